import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { numberedLines, ownFiles } from './files.ts';
import type { Finding } from './tool.ts';

const PAGE = 'docs/cases.md';
const TESTS = '{apps,packages,infra,bench,demo,e2e,models,stress,tools}/**/*.test.ts';
const ID = /^SEM-\d{3}$/;
/** A test's name that ends in the ids of the cases it would have caught, in one literal on one line. */
const NAME_WITH_CASES = /(['"`])((?:(?!\1).)*) \[((?:SEM-\d{3}(?:, )?)+)\]\1/;
/** The last cell of a row whose case has a test: where it is, and its name without the ids. */
const TEST_CELL = /^`([^`]+)`: (.+)$/;

type Claim = { readonly id: string; readonly at: string; readonly file: string; readonly name: string };

/**
 * The page of cases and the names of tests say the same: a test that a row names bears the case's id, a test that bears an
 * id is named by a row of it, and a case either has a test or says why it has none.
 */
export function checkCases(root: string): Finding {
  const page = existsSync(join(root, PAGE)) ? rowsOf(root) : [];
  const rows = page.flatMap(({ claim }) => (claim === undefined ? [] : [claim]));
  const tests = ownFiles(root, TESTS).flatMap((file) => namesOf(root, file));
  const keyOf = ({ id, file, name }: Claim) => JSON.stringify([id, file, name]);
  const [inPage, inTests] = [new Set(rows.map(keyOf)), new Set(tests.map(keyOf))];
  const open = new Set(page.flatMap(({ id, claim }) => (claim === undefined ? [id] : [])));
  const found = [
    ...rows
      .filter((row) => !inTests.has(keyOf(row)))
      .map(({ at, id, file, name }) => `${at} ${id}: no test of ${file} is called "${name} [… ${id} …]"`),
    ...tests
      .filter((test) => !inPage.has(keyOf(test)))
      .map(({ at, id, name }) => `${at} "${name}" bears ${id}, which ${PAGE} does not say of it`),
    ...rows.filter(({ id }) => open.has(id)).map(({ at, id }) => `${at} ${id} has a test, and a reason to have none`),
  ];
  return { ok: found.length === 0, output: found.join('\n') };
}

function rowsOf(root: string): { id: string; claim: Claim | undefined }[] {
  return numberedLines(root, PAGE).flatMap(({ number, text }) => {
    const [id = '', ...cells] = text
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (!ID.test(id)) return [];
    const [, file, name] = TEST_CELL.exec(cells.at(-1) ?? '') ?? [];
    const claim = file === undefined || name === undefined ? undefined : { id, at: `${PAGE}:${number}`, file, name };
    return [{ id, claim }];
  });
}

function namesOf(root: string, file: string): Claim[] {
  return numberedLines(root, file).flatMap(({ number, text }) => {
    const [, , name = '', ids = ''] = NAME_WITH_CASES.exec(text) ?? [];
    return ids.split(', ').flatMap((id) => (id === '' ? [] : [{ id, at: `${file}:${number}`, file, name }]));
  });
}
