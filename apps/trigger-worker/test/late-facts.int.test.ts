import { inTransaction, lockUsers } from '@dueline/db';
import { columnOf, lineUserId, moveProductTime } from '@dueline/db/testing';
import { recordClick } from '@dueline/link-tracking';
import { recordFriendEvent } from '@dueline/recipients';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { context, hours, key, PERSON, type Stage, setStage, UNLOCKED } from './facts-support.ts';
import { announceAll, count, createCityRule, decideDeps, decisions, message, setAttributes } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage[Symbol.asyncDispose]());
beforeEach(() => stage.clear());

test('a second click, and a click that is told again, unlock nothing more; the second is logged as late', async () => {
  const id = await stage.waiting({ source: 'link' });
  await stage.insertClick();
  const tickets = await announceAll(stage.shared.db);
  const handle = handleTriggerEvents(decideDeps(stage.shared.db), 'campaign_click');
  const copy = message(stage.tenant, { tickets });
  const outcomes = await Promise.all([handle(copy, context), handle(copy, context), handle(copy, context)]);
  expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['discarded', 'discarded', 'done']);
  expect(await decisions(stage.shared.db)).toEqual({ 'unlocked: fact_in_time': 1 });

  await stage.insertClick();
  await stage.consume();
  expect(await decisions(stage.shared.db)).toEqual({ 'suppressed: fact_late': 1, 'unlocked: fact_in_time': 1 });
  expect(await stage.stateOf(id)).toEqual(UNLOCKED);
});

test.for<[string, object, object, string]>([
  [
    'after the deadline',
    { execute_at: hours(-1), due_at: hours(-1), anchor_at: hours(-2), expires_at: hours(-1) },
    {},
    'null',
  ],
  ['after it went its way', { branch: 'expired', status: 'done', executed_at: hours(-1) }, {}, '"expired"'],
  ['after it was cancelled', { status: 'cancelled', cancel_reason: 'user', executed_at: hours(0) }, {}, 'null'],
])('a click %s of a wait is logged as late, and changes nothing', async ([, changes, values, branch]) => {
  const id = await stage.waiting({ source: 'link', changes });
  const before = await stage.stateOf(id);
  await stage.insertClick(values);
  await stage.consume();
  expect(await stage.stateOf(id)).toEqual(before);
  expect(await decisions(stage.shared.db)).toEqual({ 'suppressed: fact_late': 1 });
  expect(await count(stage.shared.db, 'trigger_log', `detail -> 'branch' = '${branch}'`)).toBe(1);
});

test('a click for a wait that is being decided is left to that decision, which looks at the facts itself', async () => {
  const id = await stage.waiting({ source: 'link', changes: { status: 'processing', lease_until: hours(1) } });
  const before = await stage.stateOf(id);
  await stage.insertClick();
  await stage.consume();
  expect(await stage.stateOf(id)).toEqual(before);
  expect(await decisions(stage.shared.db)).toEqual({});
});

test('a click in time that is told hours after the deadline still counts, by when it happened', async () => {
  await using own = await setStage();
  const id = await own.waiting({ source: 'link' });
  await recordClick(
    own.shared.db,
    { ...own.tenant, trackedLinkId: own.link, userId: PERSON },
    { idempotencyKey: key() },
  );
  await moveProductTime(own.shared.db, 6 * 3_600);
  expect(await own.consume()).toEqual(['done']);
  expect(await own.stateOf(id)).toEqual(UNLOCKED);
});

test('1,001 clicks of one statement unlock each its own, in messages of 100', async () => {
  const people = Array.from({ length: 1_001 }, (_, n) => lineUserId(n + 1));
  await stage.shared.db.$client.query(
    `with person as (select user_id from unnest($3::text[]) as user_id), action as (
       insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, dedup_key, execute_at, due_at,
                                     anchor_at, expires_at)
       select $1, $2, user_id, 'send_message', '{}', user_id, app_now() + interval '1 hour', app_now() + interval '1 hour',
              app_now() - interval '1 hour', app_now() + interval '1 hour' from person
       returning id, user_id)
     insert into action_wait (scheduled_action_id, n, organization_id, line_oa_id, user_id, source, branch)
     select id, 0, $1, $2, user_id, 'link', 'yes' from action`,
    [stage.tenant.organizationId, stage.tenant.lineOaId, people],
  );
  await stage.shared.db.$client.query(
    `insert into link_click (organization_id, line_oa_id, tracked_link_id, user_id, idempotency_key)
     select $1, $2, $3, user_id, gen_random_uuid() from unnest($4::text[]) as user_id`,
    [stage.tenant.organizationId, stage.tenant.lineOaId, stage.link, people],
  );
  for (let outcomes = await stage.consume(); outcomes.length > 0; outcomes = await stage.consume())
    expect(new Set(outcomes)).toEqual(new Set(['done']));
  expect(await count(stage.shared.db, 'scheduled_action', `branch = 'yes' and lane = 0`)).toBe(1_001);
  expect(await decisions(stage.shared.db)).toEqual({ 'unlocked: fact_in_time': 1_001 });
});

test('an event that is not what its topic promises costs itself only', async () => {
  const id = await stage.waiting({ source: 'link' });
  await stage.insertClick({ user_id: lineUserId(4) });
  await stage.shared.db.$client.query(`update event_outbox set payload = '{"id": "1", "tracked_link_id": "x"}'`);
  await stage.insertClick({ user_id: lineUserId(5), occurred_at: 'infinity' });
  await stage.insertClick();
  const deps = decideDeps(stage.shared.db);

  expect(await stage.consume(deps)).toEqual(['done']);

  expect(await stage.stateOf(id)).toEqual(UNLOCKED);
  expect(deps.errors).toHaveLength(2);
  expect(await count(stage.shared.db, 'event_outbox', 'attempts = 1')).toBe(2);
});

test('a wait that is being made while a click is decided is not missed: one waits for the other', async () => {
  await stage.insertClick();
  const tickets = await announceAll(stage.shared.db);
  let id = '';
  const handled = await inTransaction(stage.shared.db, async (tx) => {
    await lockUsers(tx, [{ lineOaId: stage.tenant.lineOaId, userId: PERSON }]);
    const handling = handleTriggerEvents(decideDeps(stage.shared.db), 'campaign_click')(
      message(stage.tenant, { tickets }),
      context,
    );
    await expect
      .poll(() => count(stage.shared.db, 'pg_locks', `locktype = 'advisory' and not granted`), { timeout: 20_000 })
      .toBe(1);
    id = await stage.waiting({ source: 'link' }); // committed by itself, while the lock is held
    return { handling };
  });
  expect(await handled.handling).toMatchObject({ outcome: 'done' });
  expect(await stage.stateOf(id)).toEqual(UNLOCKED);
});

test('an unfollow makes a person no friend, a later follow one again, whatever is told first', async () => {
  const stranger = lineUserId(77);
  const tell = (type: 'follow' | 'unfollow', occurredAt: string) =>
    recordFriendEvent(stage.shared.db, stage.tenant, { userId: stranger, type, occurredAt, webhookEventId: key() });
  await tell('follow', hours(-1));
  await stage.consume();
  await tell('unfollow', hours(-2));
  await stage.consume();
  expect(await count(stage.shared.db, 'line_user', `user_id = '${stranger}' and is_following`)).toBe(1);
});

const change = async (who: Stage, attribute = 'city') => {
  await setAttributes(who.shared.db, who.tenant, { [attribute]: key() }, [1]);
  const tickets = await announceAll(who.shared.db);
  return handleTriggerEvents(decideDeps(who.shared.db), 'attribute_changed')(message(who.tenant, { tickets }), context);
};
const waitingForLocks = (who: Stage) => count(who.shared.db, 'pg_locks', `locktype = 'advisory' and not granted`);

test('while nobody of an account waits for attributes, their changes wait for nobody; from the first wait on they do', async () => {
  await using own = await setStage();
  const hold = (work: () => Promise<unknown>) =>
    inTransaction(own.shared.db, async (tx) => {
      await lockUsers(tx, [{ lineOaId: own.tenant.lineOaId, userId: PERSON }]);
      await work();
    });
  await own.waiting({ source: 'link' });
  await hold(async () => expect(await change(own)).toMatchObject({ outcome: 'done' }));

  await own.waiting({ source: 'attribute', refId: 'tier', userId: lineUserId(9) });
  let handling: Promise<unknown> = Promise.resolve();
  await hold(async () => {
    handling = change(own);
    await expect.poll(() => waitingForLocks(own), { timeout: 20_000 }).toBe(1);
  });
  expect(await handling).toMatchObject({ outcome: 'done' });
});

test('the first wait for an attribute, made while a change of it is decided, is not missed', async () => {
  await using own = await setStage();
  const { db } = own.shared;
  const client = await db.$client.connect();
  const id = await own.waiting({ source: 'link' });
  try {
    await client.query('begin');
    await client.query(
      `insert into action_wait (scheduled_action_id, n, organization_id, line_oa_id, user_id, source, ref_id, branch)
       values ($1, 1, $2, $3, $4, 'attribute', 'city', 'yes')`,
      [id, own.tenant.organizationId, own.tenant.lineOaId, PERSON],
    );
    const handling = change(own);
    await expect.poll(() => waitingForLocks(own), { timeout: 20_000 }).toBe(1);
    await client.query('commit');
    expect(await handling).toMatchObject({ outcome: 'done' });
  } finally {
    client.release();
  }
  expect(await own.stateOf(id)).toEqual(UNLOCKED);
});

test('what hangs on the date of an attribute counts as waiting for attributes', async () => {
  await using own = await setStage();
  await own.waiting({ source: 'link', changes: { anchor_ref: 'attribute:birthday' } });
  const sources = await own.shared.db.$client.query('select source from awaited_source order by source');
  expect(sources.rows).toEqual([{ source: 'attribute' }, { source: 'link' }]);
});

const WAITS: [name: string, delay: unknown, sources: string[]][] = [
  ['no delay', undefined, []],
  ['seconds', { seconds: 60 }, []],
  ['a date of an attribute', { mode: 'relativeToDate', to: { attribute: 'birthday' }, offsetDays: 0 }, ['attribute']],
  ['the date of a booking', { mode: 'relativeToDate', to: { bookingId: '7' }, offsetDays: 0 }, ['booking']],
  ['a click, which needs no saying', { mode: 'waitForTracking', expiresSeconds: 60 }, ['link']],
  [
    'several facts',
    {
      mode: 'waitForTracking',
      expiresSeconds: 60,
      waits: [{ source: 'form' }, { source: 'friend' }, { source: 'form' }],
    },
    ['form', 'friend'],
  ],
  ['nonsense', 'later', []],
  ['nonsense that names a mode', { mode: 'waitForTracking', waits: ['x', { source: 'moon' }, 7] }, []],
];

test.for(WAITS)(
  'a rule says what its rows wait for before there is one, whoever writes it: %s',
  async ([, delay, sources]) => {
    await using own = await setStage();
    const { db } = own.shared;
    const { $client } = db;
    const config = JSON.stringify({
      messages: [{ type: 'text', text: 'hello' }],
      ...(delay !== undefined && { delay }),
    });
    const awaited = () => columnOf(db, 'select source from awaited_source order by source');
    const insert = (actionConfig: string) =>
      $client.query(
        `insert into trigger_rule (organization_id, line_oa_id, name, source_type, source_config, action_type, action_config)
       values ($1, $2, 'rule', 'attribute_changed', '{"attribute": "city"}', 'send_message', $3)`,
        [own.tenant.organizationId, own.tenant.lineOaId, actionConfig],
      );
    await insert(config);
    expect(await awaited()).toEqual(sources);
    await $client.query('delete from awaited_source; update trigger_rule set action_config = \'{"messages": []}\'');
    await insert('{}');
    await $client.query('update trigger_rule set action_config = $1', [config]);
    expect(await awaited()).toEqual(sources);
  },
);

test('a date that moves while the first row that hangs on it is being made waits for that row, because its rule is known', async () => {
  await using own = await setStage();
  const { db } = own.shared;
  const messages = [{ type: 'text' as const, text: 'soon' }];
  const delay = { mode: 'relativeToDate', to: { attribute: 'birthday' }, offsetDays: 0 } as const;
  await createCityRule(db, own.tenant, { actionConfig: { messages, delay } });
  let handling: Promise<unknown> = Promise.resolve();
  await inTransaction(db, async (tx) => {
    await lockUsers(tx, [{ lineOaId: own.tenant.lineOaId, userId: PERSON }]); // as who makes the row does, before its insert
    handling = change(own, 'birthday');
    await expect.poll(() => waitingForLocks(own), { timeout: 20_000 }).toBe(1);
  });
  expect(await handling).toMatchObject({ outcome: 'done' });
});
