import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { select } from './ship/select.ts';

const root = dirname(import.meta.dirname);
const USAGE = `usage: node tools/affected.ts (--base <revision> [--head <revision>] | --files) [--root <folder>] [--outputs]

  Prints as JSON what a change has CI test, build and package.

  --base     what changed since the last common commit with this revision; --head is HEAD unless given
  --files    what changed stands on standard input, a path to a line; of a rename both paths
  --root     the workspace; this one unless given
  --outputs  a line name=value for each field, as a workflow step takes its outputs`;

process.exitCode = main(process.argv.slice(2));

function main(args: string[]): 0 | 2 {
  try {
    const { values } = parseArgs({
      args,
      options: {
        base: { type: 'string' },
        head: { type: 'string', default: 'HEAD' },
        files: { type: 'boolean', default: false },
        root: { type: 'string', default: root },
        outputs: { type: 'boolean', default: false },
      },
    });
    if ((values.base === undefined) !== values.files) throw new Error('give either --base or --files');
    const changed =
      values.base === undefined
        ? readFileSync(0, 'utf8').split('\n')
        : changedSince({ root: values.root, base: values.base, head: values.head });
    const selection = select(
      values.root,
      changed.map((path) => path.trim()).filter((path) => path !== ''),
    );
    console.log(values.outputs ? asOutputs(selection) : JSON.stringify(selection, undefined, 2));
    return 0;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return 2;
  }
}

/** Without detection of renames, so that both paths are named; separated by NUL, so that no path is quoted. */
function changedSince({ root: cwd, base, head }: { root: string; base: string; head: string }): string[] {
  const args = ['diff', '--name-only', '--no-renames', '-z', `${base}...${head}`, '--'];
  return execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }).split('\0');
}

function asOutputs(selection: object): string {
  return Object.entries(selection)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join('\n');
}
