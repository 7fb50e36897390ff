import type { Tenant } from '@dueline/contracts';
import { columnOf, insertRow, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { daysAgo, insertAction, insertDelivery, left, remove } from './ended-work-support.ts';
import { columnsOf } from './every-table.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const OLD = 400;
const NEW = 200;

const action = (status: string, changes: { made?: number; ended?: number; dedupKey?: string } = {}) =>
  insertAction(own.db, tenant, { status, made: OLD, ...changes });
const delivery = (kind: 'action' | 'event' | 'test', logicalId: string, changes: object = {}) =>
  insertDelivery(own.db, tenant, { kind, logicalId, status: 'accepted', ended: OLD, ...changes });
const attention = (kind: string, refId: string, status = 'open') =>
  insertRow(own.db, 'attention_item', {
    ...{ ...columnsOf(tenant), kind, ref_id: refId, reason_code: 'x', status },
    ...(status !== 'open' && { closed_at: new Date() }),
  });

async function cycle(endedDaysAgo: number | null): Promise<string> {
  const rule = await insertRow(own.db, 'trigger_rule', {
    ...{ ...columnsOf(tenant), name: 'rule', action_type: 'send_message', action_config: {} },
    ...{ source_type: 'attribute_changed', source_config: {} },
  });
  const { id } = await insertRow(own.db, 'scheduled_trigger_execution', {
    ...{ ...columnsOf(tenant), trigger_rule_id: rule.id, scheduled_at: await daysAgo(own.db, OLD) },
    ...(endedDaysAgo !== null && { status: 'completed', completed_at: await daysAgo(own.db, endedDaysAgo) }),
  });
  return String(id);
}

async function wish(deliveryId: string): Promise<void> {
  await insertRow(own.db, 'rich_menu_wish', {
    ...columnsOf(tenant),
    user_id: 'U1',
    action_seq: 1,
    delivery_id: deliveryId,
  });
}

/** An action with a delivery of a status, and what else is done to both. */
async function withDelivery(status: string, also?: (deliveryId: string) => Promise<unknown>, changes: object = {}) {
  const id = await action('done');
  const deliveryId = await delivery('action', id, { status, ...changes });
  await also?.(deliveryId);
  return id;
}

const ACTIONS_THAT_GO: Record<string, () => Promise<string>> = {
  done: () => action('done'),
  failed: () => action('failed'),
  cancelled: () => action('cancelled'),
  'with a delivery that was accepted': () => withDelivery('accepted'),
  'with one that was refused': () => withDelivery('refused'),
  'with one in doubt': () => withDelivery('unknown'),
  'with one that was too late': () => withDelivery('expired'),
  'with one that was cancelled': () => withDelivery('cancelled'),
  'with two parts': async () => {
    const id = await withDelivery('accepted');
    await delivery('action', id, { ordinal: 1 });
    return id;
  },
  'of which a person closed the item': async () => {
    const id = await action('failed');
    await attention('action_failed', id, 'dismissed');
    return id;
  },
  'with what it waited for, and what people did to it': async () => {
    const id = await action('done');
    const of = { ...columnsOf(tenant), scheduled_action_id: id };
    await insertRow(own.db, 'action_wait', { ...of, user_id: 'U1', n: 0, source: 'link', branch: 'clicked' });
    await insertRow(own.db, 'scheduled_action_edit', {
      ...of,
      operation: 'edit',
      before: {},
      after: {},
      edited_by: 'x',
    });
    return id;
  },
  'of a cycle that is over for as long': async () => action('done', { dedupKey: `ste:${await cycle(OLD)}:U1` }),
  'with a key that only looks like that of a cycle': () =>
    action('done', { dedupKey: 'ste:99999999999999999999999:U1' }),
};

const ACTIONS_THAT_STAY: Record<string, () => Promise<string>> = {
  pending: () => action('pending'),
  processing: () => action('processing'),
  'done lately': () => action('done', { ended: NEW }),
  'failed lately': () => action('failed', { ended: NEW }),
  'cancelled lately': () => action('cancelled', { ended: NEW }),
  'with a delivery that is planned': () => withDelivery('planned'),
  'with one that is being sent': () => withDelivery('sending'),
  'with one that was accepted lately': () => withDelivery('accepted', undefined, { ended: NEW }),
  'with one that was refused lately': () => withDelivery('refused', undefined, { ended: NEW }),
  'with two parts, one of them lately': async () => {
    const id = await withDelivery('accepted');
    await delivery('action', id, { ordinal: 1, ended: NEW });
    return id;
  },
  'with an open item': async () => {
    const id = await action('failed');
    await attention('action_failed', id);
    return id;
  },
  'with an open item of its delivery': () => withDelivery('unknown', (id) => attention('delivery_unknown', id)),
  'with an open item of a refusal': () => withDelivery('refused', (id) => attention('delivery_refused', id)),
  'with a wish for a menu': () => withDelivery('accepted', wish, { endpoint: 'richmenu_link' }),
  'of a cycle that is not over': async () => action('done', { dedupKey: `ste:${await cycle(null)}:U1` }),
  'of a cycle that was over lately': async () => action('failed', { dedupKey: `ste:${await cycle(NEW)}:U1` }),
};

test('actions that ended long ago go with all that is theirs, and what is not over or referred to stays whole', async () => {
  const stay = new Map<string, string>();
  for (const make of Object.values(ACTIONS_THAT_GO)) await make();
  for (const [name, make] of Object.entries(ACTIONS_THAT_STAY)) stay.set(await make(), name);
  tenant = await insertTenant(own.db);
  for (const make of Object.values(ACTIONS_THAT_GO)) await make();
  const deliveriesThatStay = await columnOf(
    own.db,
    'select id from delivery where scheduled_action_id = any($1::bigint[]) order by id',
    [[...stay.keys()]],
  );

  const { rows, left: leftOver } = await remove(own.as('cron-scheduler'));
  expect((await left(own.db, 'scheduled_action')).map((id) => stay.get(String(id)) ?? `gone: ${id}`)).toEqual([
    ...stay.values(),
  ]);
  expect(await left(own.db, 'delivery')).toEqual(deliveriesThatStay);
  expect(await columnOf(own.db, 'select delivery_id from delivery_attempt order by 1')).toEqual(deliveriesThatStay);
  expect(await columnOf(own.db, 'select 1 from action_wait union all select 1 from scheduled_action_edit')).toEqual([]);
  const actions = 2 * Object.keys(ACTIONS_THAT_GO).length;
  expect({ ...rows, leftOver }).toEqual({
    ...{ scheduled_action: actions, delivery: 14, delivery_attempt: 14, leftOver: 'nothing' },
  });
});

test('deliveries of what happened at once, and tests of campaigns, go by themselves; whatever is part of more stays', async () => {
  const go = ['accepted', 'refused', 'unknown', 'expired', 'cancelled'];
  for (const status of go) await delivery('event', `gone ${status}`, { status });
  await delivery('test', 'gone test');
  await delivery('event', 'gone group');
  await delivery('event', 'gone group', { ordinal: 1 });
  const stay = [
    await delivery('event', 'planned', { status: 'planned' }),
    await delivery('event', 'sending', { status: 'sending' }),
    await delivery('event', 'lately', { ended: NEW }),
    await delivery('event', 'group of which a part ended lately'),
    await delivery('event', 'group of which a part ended lately', { ordinal: 1, ended: NEW }),
    await delivery('action', '1'),
  ];
  const doubtful = await delivery('event', 'in doubt', { status: 'unknown' });
  await attention('delivery_unknown', doubtful);
  const menu = await delivery('event', 'menu', { endpoint: 'richmenu_link' });
  await wish(menu);
  const campaign = await insertRow(own.db, 'campaign', { ...columnsOf(tenant), name: 'x', cast_type: 'broadcast' });
  const chunk = await insertRow(own.db, 'delivery', {
    ...{ ...columnsOf(tenant), kind: 'campaign', logical_id: campaign.id, campaign_id: campaign.id, chunk_no: 0 },
    ...{ endpoint: 'broadcast', retry_key: crypto.randomUUID(), body: '{}', body_sha256: '', status: 'accepted' },
    ...{ accepted_at: await daysAgo(own.db, OLD), deliver_until: await daysAgo(own.db, OLD) },
    ...{ created_date: await daysAgo(own.db, OLD) },
  });

  expect((await remove(own.as('cron-scheduler'))).rows).toEqual({
    scheduled_action: 0,
    delivery: 8,
    delivery_attempt: 8,
  });
  expect(await left(own.db, 'delivery')).toEqual([...stay, doubtful, menu, String(chunk.id)]);
});

test('the database refuses to remove what has not ended, or is of a campaign, whoever asks', async () => {
  const waits = await action('pending');
  const planned = await delivery('event', 'x', { status: 'planned' });
  const ended = await action('done');
  for (const [actions, deliveries] of [
    [[ended, waits], []],
    [[ended], [planned]],
  ])
    await expect(
      own
        .as('cron-scheduler')
        .$client.query('select remove_ended_work($1::bigint[], $2::bigint[])', [actions, deliveries]),
    ).rejects.toMatchObject({ code: '22023' });
  expect(await left(own.db, 'scheduled_action')).toEqual([waits, ended]);
  await expect(own.as('trigger-worker').$client.query(`select remove_ended_work('{}', '{}')`)).rejects.toMatchObject({
    code: '42501',
  });
});
