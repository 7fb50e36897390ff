import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { replayable, replayEvents } from '@dueline/db/changes';
import { testDb } from '@dueline/db/testing';
import { createAudience } from '@dueline/recipients';
import { setRuleMode } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
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
const EVER = { from: '2000-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' };

async function decideAll(db: Db, tenant: Tenant): Promise<void> {
  const tickets = await announceAll(db);
  await handleTriggerEvents(decideDeps(db), 'attribute_changed')(message(tenant, { tickets }), context);
}
const replay = (db: Db, tenant: Tenant, range = EVER) => inTransaction(db, (tx) => replayEvents(tx, tenant, range));

test('events that are replayed, again and again, set off no rule twice, whatever it does, spend nothing, and set off rules that came later', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db);
  const audienceId = await createAudience(db, tenant, { name: 'movers' });
  await createCityRule(db, tenant);
  await createCityRule(db, tenant, { actionConfig: later(60) });
  const cooling = await createCityRule(db, tenant, { cooldownSeconds: 1 });
  await createCityRule(db, tenant, { actionType: 'add_to_audience', actionConfig: { audienceId } } as never);
  const observing = await createCityRule(db, tenant, { mode: 'observe' });
  await setAttributes(db, tenant, { city: 'Kyoto' }, [0, 1]);
  await decideAll(db, tenant);
  await db.$client.query('delete from audience_member');
  await db.$client.query(`update rule_gate set last_fired_at = last_fired_at - interval '1 hour'`);
  const before = await decisions(db);
  expect(before).toEqual({ 'fired: matched': 6, 'scheduled: matched': 2, 'observed: matched': 2 });

  await createCityRule(db, tenant, { name: 'came later' });
  await setRuleMode(db, tenant, { ruleId: observing, mode: 'live' });
  for (let time = 1; time <= 2; time += 1) {
    expect(await replayable(db, tenant, EVER)).toBe(2);
    expect(await replay(db, tenant)).toBe(2);
    expect(await replay(db, tenant)).toBe(0); // they are there already
    await decideAll(db, tenant);
  }

  expect(await decisions(db)).toEqual({ ...before, 'fired: matched': 6 + 4, 'suppressed: already_done': 8 + 12 });
  expect(await count(db, 'delivery')).toBe(4 + 4);
  expect(await count(db, 'scheduled_action')).toBe(2);
  expect(await count(db, 'audience_member')).toBe(0);
  expect(await count(db, 'rule_gate', `trigger_rule_id = ${cooling} and fired_count > 1`)).toBe(0);
  expect(await count(db, 'event_outbox')).toBe(0);
});

test('only what happened in the range, of that topic and account, is replayed', async () => {
  await using database = await testDb();
  const { db } = database;
  const [tenant, other] = [await createTenant(db), await createTenant(db)];
  for (const one of [tenant, other]) {
    await setAttributes(db, one, { city: 'Kyoto' }, [0, 1, 2]);
    await decideAll(db, one);
  }
  await db.$client.query(
    `update event_archive set occurred_at = '2026-01-01T00:00:00Z' where user_id like '%1' and line_oa_id = $1`,
    [tenant.lineOaId],
  );
  const minute = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:01:00Z' };

  expect(await replayable(db, tenant, { ...EVER, topic: 'campaign_click' })).toBe(0);
  expect(await replayable(db, tenant, { from: EVER.from, to: minute.from })).toBe(0);
  expect(await replay(db, tenant, minute)).toBe(1);
  expect(await count(db, 'event_outbox', `replayed and line_oa_id = ${tenant.lineOaId} and user_id like '%1'`)).toBe(1);
});
