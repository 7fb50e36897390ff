import type { Tenant } from '@dueline/contracts';
import { insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runMenus } from '../src/menus.ts';
import { switchMenus } from './healthy-menus.ts';

let own: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterAll(() => own[Symbol.asyncDispose]());

async function menus(...args: string[]) {
  const written = { out: [] as string[], error: [] as string[] };
  const print = (line: string) => written.out.push(line);
  const printError = (line: string) => written.error.push(line);
  const code = await runMenus({ env: { DATABASE_URL: own.urlOf('ops') }, print, printError, login: 'mika' }, args);
  return { out: written.out.join('\n'), error: written.error.join('\n'), code };
}

test('a menu is registered, listed and deleted', async () => {
  expect(await menus('list')).toMatchObject({ code: 0, out: 'the account has no menu' });
  const { out, code } = await menus('register', 'richmenu-7', '--name', 'Gold', '--json');
  const { id } = JSON.parse(out) as { id: string };
  expect(code).toBe(0);
  expect((await menus('list')).out).toMatch(new RegExp(`${id} +richmenu-7 +Gold`));
  expect(await menus('register', 'richmenu-7', '--name', 'Gold')).toMatchObject({
    ...{ code: 1, error: 'the account has richmenu-7 already' },
  });
  expect(await menus('delete', id)).toMatchObject({ code: 0 });
  expect(await menus('delete', id)).toMatchObject({ code: 1, out: `menu ${id}: the account has no menu of this id` });
});

test('which menu a person shall see is told, with what became of it', async () => {
  const userId = lineUserId(1);
  expect(await menus('of', userId)).toMatchObject({ code: 0, out: `${userId}: no menu was ever switched` });
  await switchMenus(own.db, tenant, { userId });
  expect((await menus('of', userId)).out).toMatch(/no menu of their own \(wish 2\); delivery \d+ is accepted$/);
});

test.for([
  ['there is no command', 'switch'],
  ['register needs the id that LINE gave', 'register'],
  ['register needs --name', 'register', 'richmenu-1'],
  ['is not the id of a menu', 'delete', 'x'],
  ['--name belongs to register', 'list', '--name', 'x'],
  ['list takes nothing', 'list', 'x'],
  ['one thing at a time', 'delete', '1', '2'],
])('%s', async ([problem = '', ...args]) => {
  expect(await menus(...args)).toMatchObject({ code: 2, error: expect.stringContaining(problem) });
});
