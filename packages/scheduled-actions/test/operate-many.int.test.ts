import type { Tenant, TenantTicket } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, lineUserId, lockWaiters, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import {
  type ActionFilter,
  type ActionOperation,
  type CancelDeliveries,
  confirmOperation,
  finishActions,
  holdActions,
  previewOperation,
} from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  act,
  claimed,
  editsOf,
  ended,
  HELLO,
  insertAction,
  insertDeliveryOf,
  noDeliveries,
  rowOf,
} from './operating.ts';
import { claim } from './support.ts';

let own: TestDb;
let tenant: Tenant;
let other: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  other = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const insert = (columns: Record<string, unknown> = {}, whose = tenant) => insertAction(own.db, whose, columns);
const preview = (filter: ActionFilter, operation: ActionOperation, whose = tenant) =>
  previewOperation(own.db, whose, { filter, operation, by: 'mika', why: 'rain' });
const confirm = (token: string | null, changes: Record<string, unknown> = {}, whose = tenant) =>
  confirmOperation(own.db, whose, { token: token ?? '', by: 'ken', cancelDeliveries: noDeliveries, ...changes });
const insertDelivery = (actionId: string, columns: Record<string, unknown>) =>
  insertDeliveryOf(own.db, tenant, { actionId, ...columns });

/** `count` rows, due `seconds` from now. */
async function insertMany(count: number, { seconds, user = 1 }: { seconds: number; user?: number }): Promise<void> {
  await own.db.$client.query(
    `insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, execute_at, due_at, dedup_key)
     select $1, $2, $3, 'send_message', $4, app_now() + make_interval(secs => $5), app_now() + make_interval(secs => $5), gen_random_uuid()
       from generate_series(1, $6)`,
    [tenant.organizationId, tenant.lineOaId, lineUserId(user), JSON.stringify(HELLO), seconds, count],
  );
}

const LATER: ActionOperation = { kind: 'postpone', seconds: 5_400 };

test('a preview counts what would move, what is taken up or being sent, and what is refused and why, and changes nothing', async () => {
  const first = await insert({ execute_at: '2030-01-01T01:00:00Z' });
  await insert({ execute_at: '2030-01-01T02:00:00Z' });
  await insert({ ...claimed, execute_at: '2030-01-01T02:00:00Z' });
  await insert({ branch: 'clicked' });
  await insert(ended('cancelled'));
  await insertDelivery(await insert(ended('done')), { status: 'planned' });
  await insertDelivery(await insert(ended('done')), { status: 'accepted', accepted_at: new Date() });
  await insert({}, other);

  const shown = await preview({}, LATER);

  expect(shown).toEqual({
    operation: LATER,
    ...{ matched: 4, moves: 3, beingDecided: 1, beingSent: 1, refused: { already_unlocked: 1 } },
    samples: [
      {
        ...{ id: first, userId: lineUserId(1), ruleName: null },
        ...{ executeAt: '2030-01-01T01:00:00+00:00', nextExecuteAt: '2030-01-01T02:30:00+00:00' },
      },
      ...[expect.anything(), expect.anything()],
    ],
    token: expect.stringMatching(/^[0-9a-f]{32}$/),
    confirmUntil: expect.any(String),
  });
  expect(await rowOf(own.db, first)).toMatchObject({ fence: '0' });
});

test('a confirmation changes exactly what was shown: neither what came later nor what changed since', async () => {
  const shown = await insert();
  const changed = await insert();
  const taken = await insert({ execute_at: new Date(0) });
  const { token } = await preview({}, LATER);
  await act(own.db, tenant, { id: changed, operation: { kind: 'fire_now' } });
  await own.db.$client.query(`update scheduled_action set branch = null where id = $1`, [changed]);
  const tickets = await claim(own.db);
  expect(tickets.map(({ id }) => id).sort()).toEqual([changed, taken].sort());
  const late = await insert();

  expect(await confirm(token)).toEqual({
    ...{ kind: 'postpone', changed: 1, deliveriesCancelled: 0, refused: { being_decided: 2 } },
    refusedSamples: [changed, taken].map((id) => ({ id, refusal: 'being_decided' })),
  });
  expect(await editsOf(own.db, shown)).toMatchObject([{ operation: 'postpone', edited_by: 'ken', reason: 'rain' }]);
  expect(await editsOf(own.db, late)).toEqual([]);
});

test('an edit of 10,000 waiting rows shows them, and moves exactly those that nobody took meanwhile, while three claimers run', async () => {
  await insertMany(8_000, { seconds: 3_600 });
  await insertMany(2_000, { seconds: 0.5 });
  await insertMany(500, { seconds: 0, user: 2 });
  await insertMany(500, { seconds: 3_600, user: 2 });
  let isOver = false;
  const claims: TenantTicket[] = [];
  const claimer = async (n: number) => {
    while (!isOver) claims.push(...(await claim(own.db, { claimedBy: `cron-${n}:boot`, limit: 50 })));
  };

  const operation: ActionOperation = {
    kind: 'edit',
    at: '2031-01-01T10:00',
    messages: [{ type: 'text', text: 'new' }],
  };
  const shown = await preview({ userId: lineUserId(1) }, operation);
  const claimers = [1, 2, 3].map(claimer);
  const report = await confirm(shown.token);
  isOver = true;
  await Promise.all(claimers);

  expect(shown).toMatchObject({ matched: 10_000, moves: 10_000, refused: {} });
  const takenFirst = report.refused.being_decided ?? 0;
  expect(report.changed + takenFirst).toBe(10_000);
  expect(report.changed).toBeGreaterThanOrEqual(8_000);
  const { rows } = await own.db.$client.query(
    `select user_id = $1 as mine, status, fence::int, execute_at = '2031-01-01T01:00:00Z' as moved, action_config -> 'messages' -> 0 ->> 'text' as text,
            (select count(*)::int from scheduled_action_edit where scheduled_action_id = action.id) as edits, count(*)::int as times
       from scheduled_action as action group by 1, 2, 3, 4, 5, 6 order by 1 desc, 2, 3`,
    [lineUserId(1)],
  );
  const mine = rows.filter((row) => row.mine);
  expect(mine).toEqual([
    { mine: true, status: 'pending', fence: 1, moved: true, text: 'new', edits: 1, times: report.changed },
    ...(takenFirst === 0
      ? []
      : [{ mine: true, status: 'processing', fence: 1, moved: false, text: 'hello', edits: 0, times: takenFirst }]),
  ]);
  expect(rows.filter((row) => !row.mine && (row.moved || row.edits > 0))).toEqual([]);
  expect(new Set(claims.map(({ id }) => id)).size).toBe(claims.length);
});

test('[T12] of many that are cancelled while three workers decide them, each is cancelled or done, once, without a deadlock', async () => {
  await insertMany(2_000, { seconds: 0 });
  const { token } = await preview({}, { kind: 'cancel' });
  let decided = 0;
  const worker = async (n: number) => {
    for (;;) {
      const tickets = await claim(own.db, { claimedBy: `cron-${n}:boot`, limit: 20 });
      if (tickets.length === 0) return;
      const moved = await inTransaction(own.db, async (tx) => {
        const held = await holdActions(tx, tickets);
        return finishActions(
          tx,
          held.map(({ id, fence }) => ({ id, fence, to: 'done' as const })),
        );
      });
      decided += moved.size;
    }
  };

  const stopped: CancelDeliveries = (_, { scheduledActionIds }) =>
    Promise.resolve(scheduledActionIds.map((scheduledActionId) => ({ scheduledActionId, result: 'sent' })));
  const [report] = await Promise.all([confirm(token, { cancelDeliveries: stopped }), ...[1, 2, 3].map(worker)]);

  const { already_sent: sent = 0, being_decided: beingDecided = 0, ...others } = report.refused;
  expect(others).toEqual({});
  expect(report.changed + sent + beingDecided).toBe(2_000);
  expect(report.changed + decided).toBe(2_000);
  const { rows } = await own.db.$client.query(
    `select status, count(*)::int as times, max(edits) as edits
       from (select status, (select count(*)::int from scheduled_action_edit where scheduled_action_id = action.id) as edits
               from scheduled_action as action) as each group by status order by status`,
  );
  const expected = [
    { status: 'cancelled', times: report.changed, edits: 1 },
    { status: 'done', times: decided, edits: 0 },
  ];
  expect(rows).toEqual(expected.filter(({ times }) => times > 0));
  const deadlocks = await own.db.$client.query(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  expect(deadlocks.rows).toEqual([{ deadlocks: 0 }]);
});

test('a token is of one account, one operation and its time, and of nothing else', async () => {
  await insert();
  const { token } = await preview({}, LATER);
  await expect(confirm('AAAAAAAAAAAAAAAAAAAAAA')).rejects.toThrow('no preview of this account has this token');
  await expect(confirm(token, {}, other)).rejects.toThrow('no preview of this account has this token');
  await expect(confirm(token, { kind: 'cancel' })).rejects.toThrow('the preview was of postpone, not of cancel');
  await moveProductTime(own.db, 16 * 60);
  await expect(confirm(token)).rejects.toThrow('too old');
  expect((await preview({ userId: lineUserId(9) }, LATER)).token).toBeNull();
});

test('a repeated confirmation changes nothing and tells the same, whatever its age', async () => {
  await insertMany(501, { seconds: 60 });
  const { token } = await preview({}, { kind: 'cancel' });
  const report = await confirm(token);
  await moveProductTime(own.db, 3_600);
  expect(await confirm(token)).toEqual(report);
  expect(report).toMatchObject({ changed: 501, refused: {} });
  const { rows } = await own.db.$client.query('select count(*)::int as count from scheduled_action_edit');
  expect(rows).toEqual([{ count: 501 }]);
});

test('a confirmation that was interrupted goes on where it stopped, and two at once share the work', async () => {
  await insertMany(1_001, { seconds: 60 });
  const { token } = await preview({}, { kind: 'cancel' });
  await own.db.$client.query(`update scheduled_action set status = 'processing', lease_until = app_now(), fence = 1
                               where id = (select max(id) from scheduled_action)`);
  await own.db.$client.query(`update scheduled_action set status = 'done', lease_until = null, executed_at = app_now(), fence = 2
                               where id = (select max(id) from scheduled_action)`);
  await expect(confirm(token)).rejects.toThrow('no delivery was to be cancelled');
  expect(await own.db.$client.query(`select from scheduled_action where status = 'cancelled'`)).toMatchObject({
    rowCount: 1_000,
  });

  const cancelDeliveries: CancelDeliveries = (_, { scheduledActionIds }) =>
    Promise.resolve(scheduledActionIds.map((scheduledActionId) => ({ scheduledActionId, result: 'sent' })));
  const reports = await Promise.all([confirm(token, { cancelDeliveries }), confirm(token, { cancelDeliveries })]);
  expect(reports[0]).toMatchObject({ changed: 1_000, refused: { already_sent: 1 } });
  expect(reports[1]).toEqual(reports[0]);
});

test('[T13] of many that stand for the same work one runs anew', async () => {
  const ids = [
    await insert({ ...ended('failed'), open_key: 'k' }),
    await insert({ ...ended('failed'), open_key: 'k' }),
  ];
  const shown = await preview({}, { kind: 'revive' });
  expect(shown).toMatchObject({ matched: 2, moves: 1, refused: { already_pending: 1 } });
  expect(await confirm(shown.token)).toMatchObject({ changed: 1 });
  expect(await rowOf(own.db, ids[0] ?? '')).toMatchObject({ status: 'pending' });
});

test('[T13] a key that was taken since the preview costs only its own row', async () => {
  await insert({ ...ended('failed'), open_key: 'k' });
  await insert(ended('failed'));
  const { token } = await preview({}, { kind: 'revive' });
  const rival = await insert({ open_key: 'k' });
  expect(await confirm(token)).toMatchObject({ changed: 1, refused: { already_pending: 1 } });
  expect(await rowOf(own.db, rival)).toMatchObject({ fence: '0' });
});

test('[T13] a key that is taken at the same moment costs only its own row', async () => {
  const ids = [await insert({ ...ended('failed'), open_key: 'k' }), await insert(ended('failed'))];
  const { token } = await preview({}, { kind: 'revive' });
  const rival = await own.db.$client.connect();
  await rival.query('begin');
  await rival.query(
    `insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, execute_at, due_at, dedup_key, open_key)
     values ($1, $2, $3, 'send_message', '{}', app_now(), app_now(), 'rival', 'k')`,
    [tenant.organizationId, tenant.lineOaId, lineUserId(1)],
  );
  const confirmed = confirm(token);
  await lockWaiters(own.db, 1);
  await rival.query('commit');
  rival.release();
  expect(await confirmed).toMatchObject({
    ...{ changed: 1, refused: { already_pending: 1 }, refusedSamples: [{ id: ids[0], refusal: 'already_pending' }] },
  });
  expect(await editsOf(own.db, ids[1] ?? '')).toHaveLength(1);
});
