import { randomBytes } from 'node:crypto';
import { getChannelCredentials, getWebhookSecret, pauseAccount } from '@dueline/accounts';
import { openAttention } from '@dueline/attention';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { claimBatch, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runAccount } from '../src/account.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const claim = () =>
  claimBatch(own.db, {
    ...{ claimedBy: 'a:1', via: 'queue', limit: 500, leaseSeconds: 60, maxProcessing: 5_000, overdueMs: 0 },
  });
const dueline = (...words: string[]) => withSecret('', ...words);

const SECRETS_KEY = randomBytes(32);
const withSecret = async (secret: string, ...words: string[]) => {
  const lines: string[] = [];
  await runAccount(words, {
    env: { DATABASE_URL: own.urlOf('ops'), SECRETS_KEY: SECRETS_KEY.toString('base64') },
    print: (line) => lines.push(line),
    login: 'mika',
    readSecret: async () => secret,
  });
  return lines.join('\n');
};
const audited = () =>
  columnOf(own.db, `select concat_ws(' ', operation, done_by, reason, after) from audit_log order by id`);

test('a person pauses an account and lets it go on, and what waited is announced at once', async () => {
  await inTransaction(own.db, (tx) => scheduleMany(tx, [actionToSchedule(tenant, { delaySeconds: 0 })]));
  await insertRow(own.db, 'delivery', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, kind: 'action', logical_id: '1' },
    ...{ endpoint: 'push', retry_key: crypto.randomUUID(), body: '{}', body_sha256: '', deliver_until: '2999-01-01' },
    ...{ published_at: new Date(), announce_count: 9 },
  });
  expect(await dueline('pause', tenant.lineOaId, '--reason', 'wrong voucher')).toContain('paused');
  expect(await claim()).toEqual([]);
  await expect(dueline('pause', tenant.lineOaId)).rejects.toThrow('paused by a person already');
  expect(await dueline('list')).toContain('paused_by_person  by_person');

  expect(JSON.parse(await dueline('unpause', tenant.lineOaId, '--json'))).toEqual({
    ...{ command: 'unpause', lineOaId: tenant.lineOaId, deliveries: 1 },
  });
  expect(await columnOf(own.db, 'select concat_ws($1, published_at, announce_count) from delivery', [' '])).toEqual([
    '0',
  ]);
  expect(await claim()).toHaveLength(1);
  await expect(dueline('unpause', tenant.lineOaId)).rejects.toThrow('is not paused');
  const [paused, unpaused] = await audited();
  expect(paused).toContain('pause mika wrong voucher');
  expect(unpaused).toContain('unpause mika');
});

test('a person ends the pause of an account that LINE would not serve, and its attention item with it; a stop it leaves alone', async () => {
  await inTransaction(own.db, async (tx) => {
    await pauseAccount(tx, tenant, { reasonCode: 'forbidden', by: 'system', reason: null });
    await openAttention(tx, [
      { ...tenant, kind: 'account_paused', refId: tenant.lineOaId, userId: null, reasonCode: 'forbidden' },
    ]);
  });
  await dueline('stop', tenant.lineOaId);
  expect(await dueline('list')).toMatch(/stopped, paused_auth +forbidden/);
  await dueline('unpause', tenant.lineOaId);
  expect(await columnOf(own.db, `select concat_ws(' ', status, closed_by) from attention_item`)).toEqual([
    'resolved mika',
  ]);
  expect(await columnOf(own.db, 'select stopped_at is not null from line_oa')).toEqual(['true']);
});

test('a person stores credentials, which are sealed and stand neither in the trail nor in what is printed', async () => {
  const { lineOaId } = tenant;
  const printed = await withSecret('top-secret\n', 'credentials', lineOaId, '--kind', 'stateless');
  expect(await getChannelCredentials(own.db, { lineOaId, secretsKey: SECRETS_KEY })).toMatchObject({
    ...{ kind: 'stateless', channelSecret: 'top-secret' },
  });
  await withSecret('a-token', 'credentials', lineOaId, '--kind', 'stored');
  expect(await getChannelCredentials(own.db, { lineOaId, secretsKey: SECRETS_KEY })).toEqual({
    ...{ kind: 'stored', channelAccessToken: 'a-token' },
  });
  const rows = await columnOf(own.db, 'select line_oa::text from line_oa');
  for (const text of [printed, ...(await audited()), ...rows]) expect(text).not.toMatch(/top-secret|a-token/);
  await expect(withSecret('', 'credentials', lineOaId, '--kind', 'stored')).rejects.toThrow('standard input');
});

test.for([
  ['pause'],
  ['pause', '1', '2'],
  ['pause', 'x'],
  ['list', '1'],
  ['credentials', '1'],
  ['credentials', '1', '--kind', 'pasted'],
  ['pause', '1', '--kind', 'stored'],
  ['unpause', '1', '--how', 'skip'],
])('account %s is answered with the usage', async (words) => {
  await expect(dueline(...words)).rejects.toThrow('usage: dueline account list');
});

test('the secret that webhooks are signed with is told once, to whoever asks for a new one, and is stored sealed', async () => {
  const renewed: { secret: string } = JSON.parse(await dueline('webhook-secret', tenant.lineOaId, '--json'));
  expect(renewed).toEqual({
    ...{ command: 'webhook-secret', lineOaId: tenant.lineOaId },
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  const { lineOaId } = tenant;
  expect(await getWebhookSecret(own.db, { lineOaId, secretsKey: SECRETS_KEY })).toBe(renewed.secret);
  await expect(getWebhookSecret(own.db, { lineOaId, secretsKey: randomBytes(32) })).rejects.toThrow('does not open');

  expect(await dueline('webhook-secret', lineOaId, '--reason', 'it leaked')).toMatch(/receivers: whsec_/);
  expect(await getWebhookSecret(own.db, { lineOaId, secretsKey: SECRETS_KEY })).not.toBe(renewed.secret);
  expect(await audited()).toEqual(['webhook_secret mika', 'webhook_secret mika it leaked']);
  const stored = await columnOf(own.db, 'select webhook_secret_sealed from line_oa');
  expect(stored.join()).not.toContain('whsec_');
});
