import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { releaseNotes } from './ship/changelog.ts';

const root = dirname(import.meta.dirname);
const [version = '', ...more] = process.argv.slice(2);

if (version === '' || more.length > 0) {
  console.error('usage: node tools/release-notes.ts <version>: prints what CHANGELOG.md says of it');
  process.exitCode = 2;
} else {
  const { notes, problems } = releaseNotes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  for (const problem of problems) console.error(`CHANGELOG.md: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
  else console.log(notes);
}
