import { randomUUID } from 'node:crypto';
import { claimCampaigns } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant, Tickets } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, moveProductTime } from '@dueline/db/testing';
import { announceDeliveries, closeOverdueDeliveries, createDeliveries, settleDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { createLineClient } from '@dueline/line-client';
import { createSimulator, nthUserId } from '@dueline/line-simulator';
import type { Broker } from '@dueline/mq';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { expect, onTestFinished } from 'vitest';
import { executeActions } from '../src/execute-action.ts';
import { createInHand } from '../src/in-hand.ts';
import { startCampaigns } from '../src/start-campaign.ts';
import { limitsOf } from './limits/support.ts';

/** How a person is reached: by a message of their own, or with others of a campaign. */
export type Way = 'push' | 'chunk';

const CHANNEL = { channelId: '2000000009', channelAccessToken: 'a-token' };
const context = { signal: new AbortController().signal };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
/** Long enough for any answer that comes at all. */
export const DEADLINE_MS = 1_000;
const MINUTE = 60;
/** More than any back-off, and than the ten minutes between two probes. */
const ROUND_SECONDS = 11 * MINUTE;

const message = <Data>(tenant: Tenant, data: Data) => ({
  ...{ id: randomUUID(), tenant, data, deliveryCount: 0, publishedAt: '' },
});

/** A sender before a LINE whose clock is that of the product. */
export async function faultStage(db: Db, friends = 20) {
  let aheadMs = 0;
  const simulator = await createSimulator({
    clock: { now: () => Date.now() + aheadMs },
    channels: [{ ...CHANNEL, users: [{ prefix: 'f', count: friends }] }],
  });
  onTestFinished(() => simulator.close());
  const line = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: DEADLINE_MS });
  const { rows } = await db.$client.query<Tenant>(
    `with org as (insert into organization (name) values ('test') returning id)
     insert into line_oa (organization_id, channel_id, name) select id, $1, 'test' from org
     returning organization_id as "organizationId", id as "lineOaId"`,
    [CHANNEL.channelId],
  );
  const [tenant] = rows;
  if (tenant === undefined) throw new Error('there is no account');

  const people = (count: number) => Array.from({ length: count }, (_, n) => nthUserId('f', n));
  const send = async (tickets: Tickets['tickets']) => {
    const inHand = createInHand(8);
    await executeActions({
      ...{
        db,
        line,
        inHand,
        limits: limitsOf({ db, inHand }).chunks,
        log,
        channelAccessToken: async () => CHANNEL.channelAccessToken,
      },
      start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 30, settleSeconds: 0 },
      settle: async (settlement) => (await settleDeliveries(db, [settlement])).size === 1,
      onSettled: () => undefined,
    })(message(tenant, { tickets: [...tickets] }), context);
    await inHand.drain();
  };
  return {
    simulator,
    people,
    /** Plans one logical send to so many people. */
    plan: async (way: Way, count = 1) => {
      if (way === 'chunk') return planCampaign(db, tenant, people(count));
      await inTransaction(db, (tx) =>
        createDeliveries(
          tx,
          people(count).map((userId) =>
            deliveryToCreate(tenant, {
              ...{ userId, channelId: CHANNEL.channelId },
              request: {
                actionType: 'send_message',
                actionConfig: { messages: [{ type: 'text', text: 'hello [[lid:hello]]' }] },
              },
            }),
          ),
        ),
      );
    },
    /** Sends what is due, and gives up what is too late. */
    round: async () => {
      await inTransaction(db, (tx) => closeOverdueDeliveries(tx));
      const due = await announceDeliveries(db, { limit: 100, againAfterSeconds: 0 });
      await send(due.map(({ id, fence }) => ({ id, fence })));
    },
    /** Lets product time go on, once LINE holds no request any more, as it would not after so long. */
    later: async (seconds = ROUND_SECONDS) => {
      const inFlight = async () => {
        const answer = await fetch(`${simulator.controlUrl}/__sim/metrics`);
        return ((await answer.json()) as { inFlight: number }).inFlight;
      };
      await expect.poll(inFlight).toBe(0);
      aheadMs += seconds * 1_000;
      await moveProductTime(db, seconds);
    },
    /** By when it was made. */
    outcomes: () => columnOf(db, 'select outcome from delivery_attempt order by delivery_id, attempt_no'),
    states: () => columnOf(db, 'select distinct status from delivery'),
    receipts: () => [...simulator.ledger.receipts()],
    violations: () => [...simulator.ledger.violations()].map(({ code }) => code),
  };
}

/** A campaign to these people that is frozen and about to be sent. */
async function planCampaign(db: Db, tenant: Tenant, userIds: readonly string[]): Promise<void> {
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, userIds],
  );
  const audienceId = await createAudience(db, tenant, { name: 'everybody' });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  await dueCampaign(db, tenant, { audienceId, text: 'hello [[lid:hello]]' });
  const [claimed] = await claimCampaigns(db, { claimedBy: 'd:1', limit: 1 });
  if (claimed === undefined) throw new Error('no campaign was due');
  // Not published: the announcing sweep takes them.
  const publish: Broker['publish'] = async (_queue, messages) =>
    messages.map(() => ({ ok: false, reason: 'timeout' }) as const);
  await startCampaigns({ db, broker: { publish }, claimedBy: 'line-delivery/test:1' })(
    message(tenant, claimed.ticket),
    context,
  );
}
