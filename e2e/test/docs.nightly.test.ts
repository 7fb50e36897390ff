import { globSync } from 'node:fs';
import { ROOT } from './support.ts';
import { testPages } from './test-pages.ts';

testPages(['docs/tour.md', ...globSync('docs/how-to/*.md', { cwd: ROOT }).toSorted()]);
