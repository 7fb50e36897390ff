import { randomBytes } from 'node:crypto';
import { createLineOa, createOrganization, getChannelCredentials, loadChannelIds } from '@dueline/accounts';
import { lineOaDraft } from '@dueline/accounts/testing';
import { inTransaction } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError } from '@dueline/kernel';
import { afterAll, beforeAll, expect, test } from 'vitest';

const secretsKey = randomBytes(32);
let shared: TestDb;
let organizationId: string;
beforeAll(async () => {
  shared = await testDb();
  organizationId = await createOrganization(shared.db, { name: 'organization' });
});
afterAll(() => shared[Symbol.asyncDispose]());

const draft = () => lineOaDraft(organizationId, secretsKey);

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PermanentError);
  return (error as PermanentError).message;
}

test('the token of an account opens with the key it was sealed with, and is not readable in the row', async () => {
  const { lineOaId } = await createLineOa(shared.db, draft());
  expect(await getChannelCredentials(shared.db, { lineOaId, secretsKey })).toEqual({
    ...{ kind: 'stored', channelAccessToken: 'channel-access-token' },
  });
  const [row] = await columnOf(shared.db, 'select line_oa::text from line_oa where id = $1', [lineOaId]);
  expect(row).not.toContain('channel-access-token');
  expect(await refusal(getChannelCredentials(shared.db, { lineOaId, secretsKey: randomBytes(32) }))).toMatch(
    'does not open',
  );
});

test("a token copied into another account's row does not open there", async () => {
  const [one, two] = [await createLineOa(shared.db, draft()), await createLineOa(shared.db, draft())];
  await shared.db.$client.query(
    'update line_oa set channel_access_token_sealed = (select channel_access_token_sealed from line_oa where id = $1) where id = $2',
    [one.lineOaId, two.lineOaId],
  );
  expect(await refusal(getChannelCredentials(shared.db, { lineOaId: two.lineOaId, secretsKey }))).toMatch(
    'does not open',
  );
});

test('an account without a token, or none at all, has no token to give', async () => {
  const { lineOaId } = await createLineOa(shared.db, draft());
  await shared.db.$client.query('update line_oa set channel_access_token_sealed = null where id = $1', [lineOaId]);
  for (const id of [lineOaId, '999999']) {
    expect(await refusal(getChannelCredentials(shared.db, { lineOaId: id, secretsKey }))).toBe(
      'account has no channel access token',
    );
  }
});

test('a channel belongs to one account, and the refusal shows nothing of what was written', async () => {
  const taken = draft();
  await createLineOa(shared.db, taken);
  expect(await refusal(createLineOa(shared.db, { ...draft(), channelId: taken.channelId }))).toBe(
    'channel id is taken by another account',
  );
});

test.for([
  ['an unknown organization', { organizationId: '999999' }, 'organization does not exist'],
  ['a channel id of letters', { channelId: 'abc' }, 'channel id is not 1 to 20 digits'],
  ['no channel id', { channelId: '' }, 'channel id is not 1 to 20 digits'],
  ['no zone', { timezone: '' }, 'timezone is not an IANA zone'],
  ['an unknown zone', { timezone: 'Asia/Edo' }, 'timezone is not an IANA zone'],
  ['an offset as zone', { timezone: '+09:00' }, 'timezone is not an IANA zone'],
] as const)('an account with %s is refused', async ([, changes, message]) => {
  expect(await refusal(createLineOa(shared.db, { ...draft(), ...changes }))).toBe(message);
});

test('no account has a zone that the database does not know, whoever writes it', async () => {
  const { lineOaId } = await createLineOa(shared.db, draft());
  const set = (zone: string) =>
    shared.db.$client.query('update line_oa set timezone = $1 where id = $2', [zone, lineOaId]);
  await expect(set('Mars/Base')).rejects.toMatchObject({ code: '22023' });
  await set('America/New_York');
});

test('an organization with an unknown zone is refused', async () => {
  expect(await refusal(createOrganization(shared.db, { name: 'x', defaultTimezone: 'Mars/Base' }))).toBe(
    'timezone is not an IANA zone',
  );
});

test('every zone that Node knows means the same to the database', async () => {
  const instant = '2026-07-01T12:00:00Z';
  const zones = Intl.supportedValuesOf('timeZone');
  const local = await columnOf(
    shared.db,
    `select to_char(timestamptz '${instant}' at time zone zone, 'YYYY-MM-DD HH24:MI') from unnest($1::text[]) with ordinality as z (zone, n) order by n`,
    [zones],
  );
  const expected = zones.map((timeZone) =>
    new Date(instant).toLocaleString('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }),
  );
  const differing = zones.filter((_, at) => local[at] !== expected[at]);
  expect(differing.length).toBeLessThan(5); // a country that changed its rules between two releases of the zone data
});

test('channel ids are told for the accounts that exist, each once', async () => {
  const account = draft();
  const { lineOaId } = await createLineOa(shared.db, account);
  const found = await inTransaction(shared.db, (tx) => loadChannelIds(tx, [lineOaId, lineOaId, '999999']));
  expect(found).toEqual(new Map([[lineOaId, account.channelId]]));
  expect(await inTransaction(shared.db, (tx) => loadChannelIds(tx, []))).toEqual(new Map());
});
