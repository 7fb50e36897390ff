import { globSync } from 'node:fs';
import { ROOT } from './support.ts';
import { testPages } from './test-pages.ts';

// as the pages say
testPages(['docs/tour.md']);
testPages(globSync('docs/how-to/*.md', { cwd: ROOT }).toSorted(), { demo: ['--no-story'] });
