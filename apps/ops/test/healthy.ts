import { closeCampaigns } from '@dueline/campaigns';
import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, insertUsers } from '@dueline/db/testing';
import { createDeliveries, settleDeliveries, startDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { claimBatch, finishActions, holdActions, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { createRule, type LogEntry, recordDecisions } from '@dueline/trigger-rules';
import { startCampaigns } from './healthy-campaigns.ts';
import { switchMenus } from './healthy-menus.ts';

/**
 * As the apps make them: one action that is done and whose message LINE accepted, and one that was cancelled; an action at once whose
 * seven messages LINE accepted in two parts; a broadcast and a multicast of two chunks that are sent; a person who got a menu and lost it again.
 */
export async function healthyDatabase(db: Db): Promise<void> {
  const tenant = await insertTenant(db);
  const [userId = ''] = await insertUsers(db, tenant, 1);
  const triggerRuleId = await createRule(db, tenant, {
    name: 'city',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'city' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: 'hello' }] },
  });
  const waiting = { userId, triggerRuleId, delaySeconds: 0 };
  await inTransaction(db, (tx) =>
    scheduleMany(tx, [actionToSchedule(tenant, waiting), actionToSchedule(tenant, waiting)]),
  );
  await decide(db, tenant, { userId, triggerRuleId });
  await send(db, tenant);
  await send(db, tenant); // the second part of what has two
  await switchMenus(db, tenant, { userId });
  const sender = await startCampaigns(db);
  await send(db, sender);
  await closeCampaigns(db);
}

async function decide(db: Db, tenant: Tenant, who: { userId: string; triggerRuleId: string }): Promise<void> {
  const claim = {
    claimedBy: 'cron:1',
    via: 'queue',
    limit: 10,
    leaseSeconds: 60,
    maxProcessing: 10,
    overdueMs: 0,
  } as const;
  const tickets = await claimBatch(db, claim);
  const [channelId = ''] = await columnOf(db, 'select channel_id from line_oa');
  await inTransaction(db, async (tx) => {
    const [done, cancelled] = await holdActions(tx, tickets);
    if (done === undefined || cancelled === undefined) throw new Error('two actions were to be claimed');
    await finishActions(tx, [
      { ...done, to: 'done' },
      { ...cancelled, to: 'cancelled', reason: 'conditions_no_longer_hold' },
    ]);
    const what = { kind: 'action', logicalId: done.id, scheduledActionId: done.id } as const;
    const messages = Array.from({ length: 7 }, (_, n) => ({ type: 'text' as const, text: `part ${n}` }));
    const long = { request: { actionType: 'send_message', actionConfig: { messages } } } as const;
    await createDeliveries(tx, [
      deliveryToCreate(tenant, { ...who, ...what, channelId: String(channelId) }),
      deliveryToCreate(tenant, { ...who, ...long, channelId: String(channelId) }),
    ]);
    const base = { ...tenant, ...who, triggerOn: 'scheduled_action', ruleVersion: 1, eventId: null, rootId: null };
    const entries: LogEntry[] = [
      { ...base, action: done.request, decision: 'fired', reasonCode: 'due', scheduledActionId: done.id },
      {
        ...{ ...base, action: cancelled.request, decision: 'cancelled', scheduledActionId: cancelled.id },
        reasonCode: 'conditions_no_longer_hold',
      },
    ];
    await recordDecisions(tx, entries);
  });
}

async function send(db: Db, tenant: Tenant): Promise<void> {
  const { rows } = await db.$client.query<Ticket>("select id, fence from delivery where status = 'planned'");
  const start = { claimedBy: 'line:1', leaseSeconds: 60, settleSeconds: 60 };
  const started = await startDeliveries(db, tenant, { tickets: rows, start });
  if (started.length === 0) throw new Error('deliveries were to be started');
  await settleDeliveries(
    db,
    started.map((delivery) => ({
      started: delivery,
      result: { outcome: 'accepted', httpStatus: 200, lineRequestId: `request-${delivery.id}` },
    })),
  );
}
