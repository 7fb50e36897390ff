import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runAccount } from '../src/account.ts';
import { campaignsOf } from './campaigns-support.ts';

let own: TestDb;
beforeEach(async () => {
  own = await testDb();
});
afterEach(() => own[Symbol.asyncDispose]());

async function account(...words: string[]): Promise<string> {
  const lines: string[] = [];
  await runAccount(words, {
    env: { DATABASE_URL: own.urlOf('ops') },
    print: (line) => lines.push(line),
    login: 'mika',
  });
  return lines.join('\n');
}

const ACCOUNT = ['create', '--channel', '2000000077', '--name', 'Tea House', '--timezone', 'Asia/Bangkok'];

test('an account is created with its organization from the command line, or neither is', async () => {
  const done = JSON.parse(await account(...ACCOUNT, '--new-organization', 'Tea & Co', '--json'));
  expect(done).toEqual({ command: 'create', lineOaId: '1', organizationId: '1' });
  expect(await account('list')).toContain('Tea House');

  await expect(account(...ACCOUNT, '--new-organization', 'Other')).rejects.toThrow('taken by another account');
  expect(await columnOf(own.db, 'select name from organization')).toEqual(['Tea & Co']);
  const elsewhere = ACCOUNT.with(2, '2000000078');
  await expect(account(...elsewhere, '--organization', '99')).rejects.toThrow('organization does not exist');
  await expect(account(...ACCOUNT)).rejects.toThrow('usage: dueline account create');
  expect(await columnOf(own.db, `select concat_ws(' ', operation, done_by) from audit_log`)).toEqual([
    'account_create mika',
  ]);
});

test('a draft of a campaign is created from the command line, to an audience of the account or to everybody', async () => {
  const { lineOaId } = await insertTenant(own.db);
  const campaigns = campaignsOf(own);
  const words = ['create', '--name', 'spring', '--text', 'Hello', '--account', lineOaId];
  expect(await campaigns(...words, '--everybody')).toMatchObject({ code: 0, out: expect.stringContaining('draft') });
  expect((await campaigns('list', '--account', lineOaId)).out).toContain('spring');

  expect(await campaigns(...words, '--audience', '4711')).toMatchObject({
    ...{ code: 1, error: expect.stringContaining('no such audience') },
  });
  expect(await campaigns(...words)).toMatchObject({ code: 2, error: expect.stringContaining('either --audience or') });
  expect(await columnOf(own.db, `select concat_ws(' ', operation, done_by) from audit_log`)).toEqual([
    'campaign_create mika',
  ]);
});
