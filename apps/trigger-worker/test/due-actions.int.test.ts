import type { TenantTicket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { columnOf, insertRow, moveProductTime, testDb } from '@dueline/db/testing';
import { groupBy } from '@dueline/kernel';
import { type Claim, claimBatch } from '@dueline/scheduled-actions';
import { deleteRule } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { fireScheduledActions } from '../src/fire-scheduled-action.ts';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import {
  announceAll,
  count,
  createCityRule,
  createTenant,
  decideDeps,
  decisions,
  later,
  message,
  setAttributes,
} from './support.ts';

const context = { signal: new AbortController().signal };
const claim = (via: Claim['via'], limit = 500): Claim => ({
  claimedBy: `test/${via}:1`,
  via,
  limit,
  leaseSeconds: 60,
  maxProcessing: 5_000,
  overdueMs: 0,
  graceSeconds: 0,
});

/** A tenant with waiting actions of users 0 to `users` - 1, due after a minute of product time. */
async function waitingActions(db: Db, users: number, reEvaluate = false) {
  const tenant = await createTenant(db, users);
  const ruleId = await createCityRule(db, tenant, {
    sourceConfig: { attribute: 'city', to: 'Edo' },
    actionConfig: later(60, reEvaluate),
  });
  await setAttributes(
    db,
    tenant,
    { city: 'Edo' },
    Array.from({ length: users }, (_, n) => n),
  );
  const tickets = await announceAll(db);
  await handleTriggerEvents(decideDeps(db), 'attribute_changed')(message(tenant, { tickets }), context);
  return { tenant, ruleId };
}

/** Each profile, as a way to decide everything that is due. */
const PROFILES = {
  queue: async (db: Db, late: number[] = []) => {
    const deps = { ...decideDeps(db), onLate: (seconds: number) => late.push(seconds) };
    for (
      let tickets = await claimBatch(db, claim('queue'));
      tickets.length > 0;
      tickets = await claimBatch(db, claim('queue'))
    ) {
      for (const ofAccount of groupBy(tickets, ({ lineOaId }) => lineOaId).values()) {
        const { organizationId, lineOaId } = ofAccount[0] as TenantTicket;
        await fireScheduledActions(deps)(message({ organizationId, lineOaId }, { tickets: ofAccount }), context);
      }
    }
    return deps;
  },
  inline: async (db: Db, late: number[] = []) => {
    const deps = { ...decideDeps(db), onLate: (seconds: number) => late.push(seconds) };
    const process = processDueActions(deps, claim('inline', 3));
    while (await process());
    return deps;
  },
} as const;
const profiles = ['queue', 'inline'] as const;

test.for(profiles)('%s: nothing is decided before its time, everything when it has come, once', async (profile) => {
  await using database = await testDb();
  const { db } = database;
  await waitingActions(db, 10);

  await PROFILES[profile](db);
  expect(await count(db, 'scheduled_action', `status = 'pending'`)).toBe(10);

  await moveProductTime(db, 61);
  const { handedOver } = await PROFILES[profile](db);
  await PROFILES[profile](db);
  expect(handedOver).toHaveLength(10);
  expect(await count(db, 'scheduled_action', `status = 'done'`)).toBe(10);
  expect(await count(db, 'delivery', `kind = 'action' and logical_id = scheduled_action_id::text`)).toBe(10);
  expect(await decisions(db)).toEqual({ 'fired: due': 10, 'scheduled: matched': 10 });
});

test.for(profiles)('%s: how late each action was is told once, for metrics', async (profile) => {
  await using database = await testDb();
  const { db } = database;
  await waitingActions(db, 3);
  await moveProductTime(db, 80); // they wait for a minute

  const late: number[] = [];
  await PROFILES[profile](db, late);
  await PROFILES[profile](db, late);
  expect(late).toHaveLength(3);
  expect(Math.min(...late)).toBeGreaterThanOrEqual(20);
  expect(Math.max(...late)).toBeLessThan(3_600);
});

test('a backlog is decided by three lanes that go on from run to run, each action once; what comes after it is decided as ever', async () => {
  await using database = await testDb();
  const { db } = database;
  await waitingActions(db, 300);
  await moveProductTime(db, 61);
  const deps = decideDeps(db);
  const process = processDueActions(deps, claim('inline', 3));
  const done = () => count(db, 'scheduled_action', `status = 'done'`);
  const ofLanes = 3 * 8 * 3; // lanes, batches, actions

  expect([await process(), await done()]).toEqual([true, 3 + ofLanes]); // one batch tells that there is a backlog
  expect([await process(), await done()]).toEqual([true, 3 + 2 * ofLanes]);
  while (await process());
  expect(await done()).toBe(300);
  expect(deps.handedOver).toHaveLength(300);
  expect(await count(db, 'delivery', 'true')).toBe(300);

  await waitingActions(db, 2);
  await moveProductTime(db, 61);
  expect([await process(), await done()]).toEqual([true, 302]);
  expect(await process()).toBe(false);
});

test.for(profiles)(
  '%s: an action whose condition has turned false, whose rule or person is gone, is cancelled with its reason [SEM-133]',
  async (profile) => {
    await using database = await testDb();
    const { db } = database;
    const { tenant } = await waitingActions(db, 5, true);
    const doomed = await waitingActions(db, 1);
    await deleteRule(db, doomed.tenant, doomed.ruleId);
    await setAttributes(db, tenant, { city: 'Tokyo' }, [0, 1]);
    await db.$client.query(`update line_user set is_following = false where line_oa_id = $1 and user_id like '%2'`, [
      tenant.lineOaId,
    ]);
    await db.$client.query(`delete from line_user where line_oa_id = $1 and user_id like '%3'`, [tenant.lineOaId]);
    await moveProductTime(db, 61);

    await PROFILES[profile](db);

    expect(await decisions(db)).toEqual({
      'cancelled: conditions_no_longer_hold': 2,
      'cancelled: rule_deleted': 1,
      'cancelled: user_not_following': 1,
      'cancelled: user_unknown': 1,
      'fired: due': 1,
      'scheduled: matched': 6,
    });
    expect(
      await count(
        db,
        'scheduled_action',
        `status = 'cancelled' and cancel_reason is not null and executed_at is not null`,
      ),
    ).toBe(5);
    expect(await count(db, 'delivery')).toBe(1);
  },
);

test.for(
  profiles.flatMap((profile) => [
    [profile, 'is refused', '22000'] as const,
    [profile, 'takes too long', '57014'] as const,
  ]),
)(
  '%s: one row that spoils the batch, because it %s, is retried alone and fails after three retries, the others are decided',
  async ([profile, , code]) => {
    await using database = await testDb();
    const { db } = database;
    await waitingActions(db, 4);
    await db.$client.query(`
    create function spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt' using errcode = '${code}'; end $$;
    create trigger spoil before insert on delivery for each row when (new.user_id = 'U00000000000000000000000000000002') execute function spoil()`);
    for (let tries = 0; tries < 5; tries += 1) {
      await moveProductTime(db, 601); // beyond any back-off
      await PROFILES[profile](db);
    }

    expect(await count(db, 'scheduled_action', `status = 'done' and retry_count = 0`)).toBe(3);
    expect(
      await count(db, 'scheduled_action', `status = 'failed' and retry_count = 3 and last_error like '%spoilt%'`),
    ).toBe(1);
    expect(await decisions(db)).toMatchObject({
      'failed: decision_failed': 1,
      'retried: decision_failed': 3,
      'fired: due': 3,
    });
  },
);

test.for(profiles)(
  '%s: a message that is there already, though its row was not decided, is not made again: the row fails and says so',
  async (profile) => {
    await using database = await testDb();
    const { db } = database;
    const { tenant } = await waitingActions(db, 3);
    const [id] = await columnOf(db, 'select id from scheduled_action order by id');
    await insertRow(db, 'delivery', {
      ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, kind: 'action', logical_id: id },
      ...{ endpoint: 'push', user_id: 'U', retry_key: crypto.randomUUID(), body: '{}', body_sha256: '' },
      deliver_until: new Date(),
    });
    await moveProductTime(db, 61);
    const { handedOver } = await PROFILES[profile](db);

    expect(handedOver).toHaveLength(2);
    expect(await count(db, 'delivery')).toBe(3);
    expect(
      await columnOf(
        db,
        `select last_error like '%delivery_logical_key%' from scheduled_action where status = 'pending'`,
      ),
    ).toEqual(['true']);
    expect(await decisions(db)).toEqual({ 'fired: due': 2, 'retried: decision_failed': 1, 'scheduled: matched': 3 });
  },
);

test('a ticket that is delivered twice, even at the same moment, decides its row once; a stale one nothing', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant } = await waitingActions(db, 8);
  await moveProductTime(db, 61);
  const tickets = await claimBatch(db, claim('queue'));
  const deps = decideDeps(db);
  const fire = fireScheduledActions(deps);
  const copy = message(tenant, { tickets });

  await Promise.all([fire(copy, context), fire(copy, context), fire(copy, context)]);
  const stale = tickets.map(({ id, fence }) => ({ id, fence: String(Number(fence) - 1) }));

  expect(await fire(message(tenant, { tickets: stale }), context)).toMatchObject({ outcome: 'discarded' });
  expect(await fire(message({ ...tenant, organizationId: '999' }, { tickets }), context)).toMatchObject({
    outcome: 'discarded',
  });
  expect(deps.handedOver).toHaveLength(8);
  expect(await count(db, 'delivery')).toBe(8);
  expect(await decisions(db)).toEqual({ 'fired: due': 8, 'scheduled: matched': 8 });
});

test('both profiles and several replicas at once decide each row once', async () => {
  await using database = await testDb();
  const { db } = database;
  await waitingActions(db, 300);
  await moveProductTime(db, 61);

  const all = await Promise.all([PROFILES.queue(db), PROFILES.inline(db), PROFILES.queue(db), PROFILES.inline(db)]);

  const ids = all.flatMap(({ handedOver }) => handedOver.map(({ id }) => id));
  expect(ids).toHaveLength(300);
  expect(new Set(ids).size).toBe(300);
  expect(await count(db, 'scheduled_action', `status = 'done'`)).toBe(300);
});
