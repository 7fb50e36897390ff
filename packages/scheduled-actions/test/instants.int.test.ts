import type { Tenant } from '@dueline/contracts';
import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { listActions, showAction } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { act, insertAction, rowOf } from './operating.ts';
import { claim, standAt } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Bangkok' });
  await standAt(own.db, '2026-12-01T00:00:00Z');
});
afterEach(() => own[Symbol.asyncDispose]());

const TIMES: [named: string, instant: string][] = [
  ['2026-12-01T09:00:00+07:00', '2026-12-01 02:00:00.000000'],
  ['2026-12-01T09:00', '2026-12-01 02:00:00.000000'], // of the account
  ['2026-12-01T02:00:00.123456Z', '2026-12-01 02:00:00.123456'],
  ['2026-12-01T02:00:00.999999Z', '2026-12-01 02:00:00.999999'],
];

test.for(TIMES)('a person who names %s means the instant %s, to the microsecond [SEM-119]', async ([at, instant]) => {
  const id = await insertAction(own.db, tenant);
  await act(own.db, tenant, { id, operation: { kind: 'edit', at } });
  const utc = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`;
  expect(await rowOf(own.db, id, `${utc('execute_at')} as due, execute_at = due_at as both`)).toEqual({
    due: instant,
    both: true,
  });
  const shown = await showAction(own.db, tenant, id);
  expect(Temporal.Instant.from(shown?.executeAt ?? '').equals(`${instant.replace(' ', 'T')}Z`)).toBe(true);
  await standAt(own.db, `${instant}Z`);
  expect((await claim(own.db)).map((ticket) => ticket.id)).toEqual([id]);
});

test('what is due a microsecond later is not claimed with what is due now, and both have their place in a list', async () => {
  const [first, second] = [await insertAction(own.db, tenant), await insertAction(own.db, tenant)];
  await act(own.db, tenant, { id: second, operation: { kind: 'edit', at: '2026-12-01T02:00:00.000500Z' } });
  await act(own.db, tenant, { id: first, operation: { kind: 'edit', at: '2026-12-01T02:00:00.000501Z' } });
  const { actions, next } = await listActions(own.db, tenant, { filter: {}, limit: 1 });
  const rest = await listActions(own.db, tenant, { filter: {}, limit: 1, after: next ?? '' });
  expect([...actions, ...rest.actions].map(({ id }) => id)).toEqual([second, first]);
  await standAt(own.db, '2026-12-01T02:00:00.000500Z');
  expect((await claim(own.db)).map(({ id }) => id)).toEqual([second]);
});

test.for([
  'infinity',
  '-infinity',
  '+010000-01-01T00:00Z',
  '10000-01-01T00:00Z',
  '9999-12-31T23:59Z',
  '0001-01-01T00:00Z',
  'now',
])('a person cannot name %s', async (at) => {
  const id = await insertAction(own.db, tenant);
  await expect(act(own.db, tenant, { id, operation: { kind: 'edit', at } })).rejects.toThrow();
  expect(await rowOf(own.db, id, 'fence')).toEqual({ fence: '0' });
});
