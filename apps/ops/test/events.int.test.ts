import { inTransaction } from '@dueline/db';
import { announceEvents, takeEvents } from '@dueline/db/changes';
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
