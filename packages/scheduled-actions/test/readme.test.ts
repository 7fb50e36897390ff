import { readFile } from 'node:fs/promises';
import { TRANSITIONS } from '@dueline/scheduled-actions';
import { expect, test } from 'vitest';

/** The moves `from>to` that the state diagram of a page shows, with what makes them. */
function movesOf(page: string): string[] {
  const [, diagram = ''] = /```mermaid\nstateDiagram-v2\n([^`]*)```/.exec(page) ?? [];
  return [...diagram.matchAll(/^ {2}(\S+) --> (\S+): \S/gm)].map(([, from, to]) => `${from}>${to}`);
}

test('the picture in the README shows every move there is, each once, and no other', async () => {
  const page = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const allowed = Object.entries(TRANSITIONS).flatMap(([from, tos]) => tos.map((to) => `${from}>${to}`));
  const begins = ['[*]>pending', '[*]>cancelled', '[*]>failed'];
  expect(movesOf(page).sort()).toEqual([...begins, ...allowed].sort());
});
