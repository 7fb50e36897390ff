import { randomBytes, randomUUID } from 'node:crypto';
import {
  BREAKER_LIMITS,
  type BreakerLimits,
  createLineOa,
  createOrganization,
  getChannelCredentials,
} from '@dueline/accounts';
import { claimCampaigns } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant, Tickets } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, moveProductTime } from '@dueline/db/testing';
import { announceDeliveries, createDeliveries, settleDeliveries } from '@dueline/deliveries';
import { createLineAccountClient, createLineClient } from '@dueline/line-client';
import { type ChannelConfig, createSimulator, nthUserId } from '@dueline/line-simulator';
import type { Broker } from '@dueline/mq';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { onTestFinished } from 'vitest';
import { afterChunk } from '../src/after-chunk.ts';
import { createBreaker } from '../src/breaker.ts';
import { executeActions } from '../src/execute-action.ts';
import { createInHand } from '../src/in-hand.ts';
import { createRefusalJudge } from '../src/judge-refusal.ts';
import { createThrottleJudge } from '../src/judge-throttle.ts';
import { lookAtPaused } from '../src/look-at-paused.ts';
import { createPauses } from '../src/pauses.ts';
import { createGuard } from '../src/send-guard.ts';
import { startCampaigns } from '../src/start-campaign.ts';
import { createTokens } from '../src/tokens.ts';
import { limitsOf } from './limits/support.ts';

export const CHANNEL = { channelId: '2000000001', channelAccessToken: 'a-token' };
export const SECRETS_KEY = randomBytes(32);
const context = { signal: new AbortController().signal };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

const message = <Data>(tenant: Tenant, data: Data) => ({
  id: randomUUID(),
  tenant,
  data,
  deliveryCount: 0,
  publishedAt: '',
});

/** LINE, an account at it with 1,300 friends, and a clock that moves both. */
export async function stageOf(db: Db, channel: Partial<ChannelConfig> = {}) {
  let aheadMs = 0;
  const simulator = await createSimulator({
    clock: { now: () => Date.now() + aheadMs },
    channels: [{ ...CHANNEL, users: [{ prefix: 'e', count: 1_300 }], ...channel }],
  });
  onTestFinished(() => simulator.close());
  const organizationId = await createOrganization(db, { name: 'test' });
  const account = { ...CHANNEL, organizationId, name: 'test', timezone: 'Asia/Tokyo', secretsKey: SECRETS_KEY };
  const tenant = await createLineOa(db, account);
  return {
    ...{ db, simulator, tenant },
    /** Lets product time and LINE's go on. */
    async pass(seconds: number): Promise<void> {
      await moveProductTime(db, seconds);
      aheadMs += seconds * 1_000;
    },
    requests: (path: string) => [...simulator.ledger.requests()].filter((row) => row.path === path),
    status: async () => String((await columnOf(db, 'select status from line_oa'))[0]),
    states: () => columnOf(db, `select concat_ws(' ', status, count(*)) from delivery group by status order by status`),
  };
}
export type Stage = Awaited<ReturnType<typeof stageOf>>;

/** One replica of line-delivery. */
export function replicaOf(
  { db, simulator, tenant }: Stage,
  {
    limits = BREAKER_LIMITS,
    beforeSettle,
  }: { limits?: BreakerLimits /** Between LINE's answer and its record. */; beforeSettle?: () => Promise<void> } = {},
) {
  const line = createLineAccountClient({ baseUrl: simulator.apiUrl });
  const sender = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: 2_000 });
  onTestFinished(() => {
    line.close();
    sender.close();
  });
  const load = (lineOaId: string) => getChannelCredentials(db, { lineOaId, secretsKey: SECRETS_KEY });
  const tokens = createTokens({ line, load });
  const pauses = createPauses({ db, log });
  const throttles = createThrottleJudge({ db, line, pauses });
  const breaker = createBreaker({ db, log, limits, settleSeconds: 0 });
  const refusals = createRefusalJudge({ db, line, breaker });
  const guard = createGuard({ log, tokens, pauses, throttles, breaker, refusals });
  const settled = afterChunk({ db, log, staleSeconds: 900 });

  const send = async (tickets: Tickets['tickets']) => {
    const inHand = createInHand(8);
    const execute = executeActions({
      ...{
        db,
        line: sender,
        inHand,
        limits: limitsOf({ db, inHand }).chunks,
        log,
        guard,
        channelAccessToken: tokens.get,
      },
      start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 30, settleSeconds: 0 },
      settle: async (settlement) => {
        await beforeSettle?.();
        return (await settleDeliveries(db, [settlement])).size === 1;
      },
      onSettled: (outcome, started) => settled(outcome, started),
    });
    await execute(message(tenant, { tickets }), context);
    await inHand.drain();
  };
  return {
    send,
    tokens,
    /** Sends all that is due, once. */
    async round(): Promise<void> {
      const tickets = await announceDeliveries(db, { limit: 100, againAfterSeconds: 0 });
      if (tickets.length > 0) await send(tickets.map(({ id, fence }) => ({ id, fence })));
    },
    /** Looks at paused accounts, as it does every minute. */
    look: lookAtPaused({ db, line, tokens, pauses, everySeconds: 0 }),
  };
}

/** Plans a push to each of so many people, from the one at `first` on. */
export const planPushes = ({ db, tenant }: Stage, users: number, first = 0) =>
  inTransaction(db, (tx) =>
    createDeliveries(
      tx,
      Array.from({ length: users }, (_, at) => first + at).map((n) => ({
        ...{ ...tenant, channelId: CHANNEL.channelId, kind: 'action' as const, logicalId: String(n + 1), epoch: 1 },
        userId: nthUserId('e', n),
        request: {
          actionType: 'send_message' as const,
          actionConfig: { messages: [{ type: 'text' as const, text: `[[lid:a${n}]]` }] },
        },
        ...{ triggerRuleId: null, scheduledActionId: null, eventId: null, rootId: null, traceparent: undefined },
      })),
    ),
  );

/** Freezes a multicast to so many people in chunks of 500, and leaves their sending to a replica. */
export async function planCampaign({ db, tenant }: Stage, people: number): Promise<void> {
  const userIds = Array.from({ length: people }, (_, n) => nthUserId('e', n));
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, userIds],
  );
  const audienceId = await createAudience(db, tenant, { name: 'everybody' });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  await dueCampaign(db, tenant, { audienceId, text: 'spring [[lid:spring]]' });
  const [claimed] = await claimCampaigns(db, { claimedBy: 'd:1', limit: 1 });
  if (claimed === undefined) throw new Error('no campaign was due');
  const publish: Broker['publish'] = async (_queue, messages) => messages.map(() => ({ ok: true }) as const);
  const start = startCampaigns({ db, broker: { publish }, claimedBy: 'line-delivery/test:1' });
  await start(message(tenant, claimed.ticket), context);
}
