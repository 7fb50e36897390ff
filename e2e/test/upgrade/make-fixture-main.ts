import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '@dueline/demo';
import { checkOut, execute } from './check-out.ts';
import { FIXTURES } from './release.ts';

// node e2e/test/upgrade/make-fixture-main.ts <commit>: plays the story from the sources of that commit, and keeps what there is then.
const [commit = 'HEAD'] = process.argv.slice(2);

const { stdout } = await execute('git', ['rev-parse', `${commit}^{commit}`], { cwd: ROOT });
const folder = await checkOut(commit, ['@dueline/e2e...']);
try {
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  const fixture = join(FIXTURES, `release-${version}`);
  await mkdir(fixture, { recursive: true });
  await cp(import.meta.dirname, join(folder, 'e2e/test/upgrade'), { recursive: true });
  await execute(process.execPath, ['e2e/test/upgrade/play-main.ts', fixture], { cwd: folder, maxBuffer: 2 ** 24 });

  const file = join(fixture, 'release.json');
  const state = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ version, commit: stdout.trim(), ...state }));
  await execute(join(ROOT, 'node_modules/.bin/biome'), ['format', '--write', fixture], { cwd: ROOT });
  process.stdout.write(`kept ${fixture}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
