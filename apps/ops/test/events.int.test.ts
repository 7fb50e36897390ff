import { openAttention } from '@dueline/attention';
import { inTransaction } from '@dueline/db';
import { announceEvents, failEvent, takeEvents } from '@dueline/db/changes';
import { columnOf, insertTenant, insertUsers, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { runEvents } from '../src/events.ts';

const EVER = ['--from', '2000-01-01T00:00:00Z', '--to', '2100-01-01T00:00:00Z'];

test('a replay is counted first, then done, and leaves who did it; what does not fit is told', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, 3);
  await own.db.$client.query(`update line_user set attributes = '{"city": "Oslo"}'`);
  const tickets = await announceEvents(own.db, { limit: 10, leaseSeconds: 60, maxPublished: 10 });
  await inTransaction(own.db, (tx) => takeEvents(tx, tickets));
  const events = async (...args: string[]) => {
    const written: string[] = [];
    const print = (line: string) => written.push(line);
    const code = await runEvents(
      { env: { DATABASE_URL: own.urlOf('ops') }, print, printError: print, login: 'mika' },
      args,
    );
    return { code, text: written.join('\n') };
  };
  const waiting = () => columnOf(own.db, `select count(*) from event_outbox where replayed`);

  expect(await events('replay', ...EVER)).toEqual({ code: 0, text: '3 events; --yes puts them back' });
  expect(await waiting()).toEqual(['0']);
  expect(await events('replay', ...EVER, '--topic', 'booking_event', '--json')).toEqual({
    ...{ code: 0, text: '{"count":0,"replayed":false}' },
  });
  expect(await events('replay', ...EVER, '--yes')).toEqual({ code: 0, text: '3 events are decided once more' });
  expect(await waiting()).toEqual(['3']);
  expect(
    await columnOf(own.db, `select operation || ' ' || done_by || ' ' || (after ->> 'count') from audit_log`),
  ).toEqual(['events_replay mika 3']);

  expect(await events('replay', '--from', 'yesterday', '--to', EVER[3] ?? '')).toMatchObject({ code: 2 });
  expect((await events('replay', '--from', EVER[1] ?? '')).text).toMatch(/--to is needed/);
  expect((await events('replay', ...EVER, '--topic', 'moon_landing')).text).toMatch(/no such topic/);
});

test('an event that was given up is decided after all, alone and with all its tries; of two people one retries it, and no other account', async () => {
  await using own = await testDb();
  const { db } = own;
  const tenant = await insertTenant(db);
  const other = await insertTenant(db);
  await insertUsers(db, tenant, 2);
  await db.$client.query(`update line_user set attributes = '{"city": "Oslo"}'`);
  await db.$client.query('update event_outbox set attempts = 19, rescue_count = 3');
  const tickets = await announceEvents(db, { limit: 10, leaseSeconds: 60, maxPublished: 10 });
  const [given, taken] = tickets.map(({ id, fence }) => ({ id, fence }));
  if (given === undefined || taken === undefined) throw new Error('two events were to be announced');
  const dead = { ...tenant, kind: 'event_dead', refId: given.id, userId: null, reasonCode: 'decision_failed' } as const;
  await inTransaction(db, async (tx) => {
    expect(await failEvent(tx, given)).toBe(true);
    await openAttention(tx, [dead]);
  });
  const events = async (account: string, ...args: string[]) => {
    const written: string[] = [];
    const print = (line: string) => written.push(line);
    const words = ['retry', ...args, '--account', account];
    const code = await runEvents(
      { env: { DATABASE_URL: own.urlOf('ops') }, print, printError: print, login: 'mika' },
      words,
    );
    return { code, text: written.join('\n') };
  };
  const left = (id: string, account: string) => `event ${id}: account ${account} has given up no event of this id`;

  expect(await events(other.lineOaId, given.id)).toEqual({ code: 1, text: left(given.id, other.lineOaId) });
  const both = await Promise.all([events(tenant.lineOaId, given.id, taken.id), events(tenant.lineOaId, given.id)]);
  expect(both.flatMap(({ text }) => text.split('\n')).sort()).toEqual(
    [
      left(given.id, tenant.lineOaId),
      `event ${given.id}: is decided after all`,
      left(taken.id, tenant.lineOaId),
    ].sort(),
  );
  const row = `select concat_ws(' ', status, attempts, rescue_count, alone) from event_outbox where id = ${given.id}`;
  expect(await columnOf(db, row)).toEqual(['pending 0 0 t']);
  expect(await columnOf(db, `select concat_ws(' ', status, closed_by) from attention_item`)).toEqual(['resolved mika']);
  expect(await columnOf(db, `select concat_ws(' ', operation, after -> 'ids') from audit_log`)).toEqual([
    `events_retry ["${given.id}"]`,
  ]);
  const [again] = await announceEvents(db, { limit: 10, leaseSeconds: 60, maxPublished: 10 });
  expect(again?.id).toBe(given.id);

  expect(await events(tenant.lineOaId)).toMatchObject({ code: 2 });
  expect(await events(tenant.lineOaId, 'x')).toMatchObject({ code: 2 });
  expect(await events(tenant.lineOaId, given.id, '--yes')).toMatchObject({ code: 2 });
});
