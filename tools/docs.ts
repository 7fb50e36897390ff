import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chartPages } from '@dueline/helm';
import { observabilityPages } from '@dueline/observability';
import { configPage } from './docs/config.ts';
import { queuesPage } from './docs/queues.ts';
import { schemaPage } from './docs/schema.ts';

const root = dirname(import.meta.dirname);
const FOLDER = 'docs/generated';

const pages = new Map([
  [`${FOLDER}/config.md`, await configPage(root)],
  [`${FOLDER}/queues.md`, queuesPage(root)],
  [`${FOLDER}/schema.md`, schemaPage(root)],
  ...(await chartPages(root)),
  ...observabilityPages(),
]);
process.exitCode = process.argv.includes('--check') ? check() : write();

/** Writes what changed. */
function write(): 0 {
  for (const [path, text] of pages) {
    if (current(path) === text) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    console.log(`wrote ${path}`);
  }
  return 0;
}

/** Names each page that differs from what the code says, with the first line that does. */
function check(): 0 | 1 {
  const stale = [...pages].filter(([path, text]) => current(path) !== text);
  for (const [path, text] of stale) {
    console.log(`${path}:${firstDifference(current(path), text)} is not what the code says; run ./dueline docs`);
  }
  return stale.length === 0 ? 0 : 1;
}

function current(path: string): string {
  return existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '';
}

function firstDifference(is: string, should: string): string {
  const [found, wanted] = [is.split('\n'), should.split('\n')];
  const index = wanted.findIndex((line, at) => line !== found[at]);
  const at = index === -1 ? wanted.length : index;
  return `${at + 1} (should be ${JSON.stringify((wanted[at] ?? 'the end').slice(0, 160))})`;
}
