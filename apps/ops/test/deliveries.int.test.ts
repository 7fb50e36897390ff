import { listAttention, openAttention } from '@dueline/attention';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { createDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runDeliveries } from '../src/deliveries.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

async function deliveries(...args: string[]) {
  const written = { out: [] as string[], error: [] as string[] };
  const print = (line: string) => written.out.push(line);
  const printError = (line: string) => written.error.push(line);
  const code = await runDeliveries({ env: { DATABASE_URL: own.urlOf('ops') }, print, printError, login: 'mika' }, args);
  return { out: written.out.join('\n'), error: written.error.join('\n'), code };
}

/** A delivery that ended so; an unknown or refused one with the item that tells of it. */
async function ended(status: 'planned' | 'expired' | 'unknown' | 'refused'): Promise<string> {
  const [{ id } = { id: '' }] = await inTransaction(own.db, (tx) => createDeliveries(tx, [deliveryToCreate(tenant)]));
  if (status === 'refused')
    await own.db.$client.query(
      `update delivery set status = 'sending', lease_until = clock_timestamp(), fence = fence + 1 where id = $1`,
      [id],
    );
  if (status !== 'planned')
    await own.db.$client.query('update delivery set status = $1, lease_until = null, fence = fence + 1 where id = $2', [
      status,
      id,
    ]);
  const kind = status === 'refused' ? 'delivery_refused' : 'delivery_unknown';
  const item = { ...tenant, kind, refId: id, userId: null, reasonCode: 'x' } as const;
  if (status === 'unknown' || status === 'refused') await inTransaction(own.db, (tx) => openAttention(tx, [item]));
  return id;
}
const statusOf = (id: string) => columnOf(own.db, `select status || ' ' || epoch from delivery where id = $1`, [id]);
const items = async () =>
  (await listAttention(own.db, tenant, { status: 'open', after: '0', limit: 10 })).map(({ refId }) => refId);
const trail = () =>
  columnOf(
    own.db,
    `select concat_ws(' ', operation, before ->> 'id', before ->> 'status', after ->> 'acceptDuplicates', done_by, reason) from audit_log order by id`,
  );

test('a message that was too late is sent again, and who did it is written down', async () => {
  const id = await ended('expired');
  expect(await deliveries('resend', id, '--why', 'the line was down', '--by', 'ken')).toEqual({
    ...{ code: 0, error: '', out: `delivery ${id}: was expired, is sent again under a new key` },
  });
  expect(await statusOf(id)).toEqual(['planned 2']);
  expect(await trail()).toEqual([`delivery_resend ${id} expired false ken the line was down`]);
  expect(await deliveries('resend', id, '--why', 'again')).toMatchObject({
    ...{ code: 1, out: `delivery ${id}: is planned: it goes on by itself` },
  });
  expect(await trail()).toHaveLength(1);
});

test('a message of which nobody knows whether it arrived is sent again only by somebody who accepts a duplicate; that ends its item', async () => {
  const id = await ended('unknown');
  expect(await deliveries('resend', id, '--why', 'they ask for it')).toMatchObject({
    ...{ code: 1, out: `delivery ${id}: LINE may have taken it: say --accept-duplicates to send it all the same` },
  });
  expect([await statusOf(id), await items(), await trail()]).toEqual([['unknown 1'], [id], []]);

  expect(await deliveries('resend', id, '--why', 'they ask for it', '--accept-duplicates')).toMatchObject({ code: 0 });
  expect([await statusOf(id), await items()]).toEqual([['planned 2'], []]);
  expect(await trail()).toEqual([`delivery_resend ${id} unknown true mika they ask for it`]);
});

test('assume-sent leaves the message alone and closes its item, once', async () => {
  const id = await ended('unknown');
  const assume = () => deliveries('assume-sent', id, '--why', 'they have it', '--json');
  expect(await assume()).toMatchObject({
    ...{ code: 0, out: JSON.stringify({ deliveries: [{ id, result: 'assumed' }] }) },
  });
  expect([await statusOf(id), await items()]).toEqual([['unknown 1'], []]);
  expect(await assume()).toMatchObject({ code: 1 });
});

test('of several each is told for itself, and another account cannot reach them', async () => {
  const [late, open] = [await ended('expired'), await ended('planned')];
  const other = await insertTenant(own.db);
  expect(await deliveries('resend', late, '--why', 'x', '--account', other.lineOaId)).toMatchObject({
    ...{ code: 1, out: `delivery ${late}: the account has no delivery of this id` },
  });
  const both = await deliveries('resend', late, open, '--why', 'x', '--account', tenant.lineOaId);
  expect(both.code).toBe(1);
  expect(both.out.split('\n')).toHaveLength(2);
  expect(await statusOf(late)).toEqual(['planned 2']);
});

test.for([
  [['send', '1', '--why', 'x'], 'there is no command send'],
  [['resend', '--why', 'x'], 'resend needs the id of a delivery'],
  [['resend', '1;2', '--why', 'x'], '1;2 is not the id of a delivery'],
  [['resend', '1'], 'resend needs --why <reason>'],
  [['assume-sent', '1', '--why', 'x', '--accept-duplicates'], '--accept-duplicates belongs to resend'],
  [['resend', '1', '--whi', 'x'], "Unknown option '--whi'"],
] as const)('%j is refused: %s', async ([args, says]) => {
  const { code, error } = await deliveries(...args);
  expect(code).toBe(2);
  expect(error).toContain(says);
});

test('what LINE refused is sent again, which ends its item; it cannot be assumed to be sent', async () => {
  const id = await ended('refused');
  expect(await deliveries('assume-sent', id, '--why', 'it looks fine')).toMatchObject({ code: 1 });
  expect(await items()).toEqual([id]);
  expect(await deliveries('resend', id, '--why', 'the menu is back')).toMatchObject({ code: 0 });
  expect(await statusOf(id)).toEqual(['planned 2']);
  expect(await items()).toEqual([]);
});
