import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@dueline/demo';

const PAGE = join(ROOT, 'docs/performance.md');

/** Puts a report into its place on the page of figures. @throws Error when the page has no place for it. */
export function recordReport(scenario: string, text: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const begin = `<!-- bench:${scenario} -->`;
  const end = `<!-- /bench:${scenario} -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no place for "${scenario}"`);
  writeFileSync(PAGE, `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`);
}
