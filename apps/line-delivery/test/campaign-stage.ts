import { randomUUID } from 'node:crypto';
import { claimCampaigns, showCampaign } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { CampaignTicket, Tenant, Ticket, Tickets } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { moveProductTime } from '@dueline/db/testing';
import { announceDeliveries, settleDeliveries } from '@dueline/deliveries';
import { createLineClient } from '@dueline/line-client';
import { type ChannelConfig, createSimulator, nthUserId } from '@dueline/line-simulator';
import type { Broker } from '@dueline/mq';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { onTestFinished } from 'vitest';
import { afterChunk } from '../src/after-chunk.ts';
import type { AskMonth } from '../src/ask-months.ts';
import { type ExecuteDeps, executeActions } from '../src/execute-action.ts';
import { createInHand } from '../src/in-hand.ts';
import { startCampaigns } from '../src/start-campaign.ts';
import { limitsOf } from './limits/support.ts';

export const CHANNEL = { channelId: '2000000001', channelAccessToken: 'a-token' };
export const FRIENDS = 1_300;
const context = { signal: new AbortController().signal };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** An account of 1,300 friends, and what line-delivery does for its campaigns. */
export async function stage(db: Db, knobs: ChannelConfig['knobs'] = {}) {
  const simulator = await createSimulator({
    channels: [{ ...CHANNEL, knobs, users: [{ prefix: 'e', count: FRIENDS }] }],
  });
  onTestFinished(() => simulator.close());
  const { rows } = await db.$client.query<{ organization_id: string; id: string }>(
    `with org as (insert into organization (name) values ('test') returning id)
     insert into line_oa (organization_id, channel_id, name) select id, $1, 'test' from org returning organization_id, id`,
    [CHANNEL.channelId],
  );
  const tenant: Tenant = { organizationId: rows[0]?.organization_id ?? '', lineOaId: rows[0]?.id ?? '' };
  const published: Tickets['tickets'] = [];
  const publish: Broker['publish'] = async (_queue, messages) => {
    for (const { data } of messages) published.push(...(data as Tickets).tickets);
    return messages.map(() => ({ ok: true }) as const);
  };
  const start = async (ticket: CampaignTicket, how: Broker['publish'] = publish, askMonth?: AskMonth) =>
    startCampaigns({ db, broker: { publish: how }, claimedBy: 'line-delivery/test:1', askMonth })(
      message(tenant, ticket),
      context,
    );
  /** Sends what these tickets stand for, to the end. */
  const send = async (tickets: Tickets['tickets'], close = true, parts: Partial<ExecuteDeps> = {}) => {
    const inHand = createInHand(8);
    const settled = afterChunk({ db, log, staleSeconds: 900 });
    const line = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: 2_000 });
    const outcome = await executeActions({
      ...{ db, line, inHand, limits: limitsOf({ db, inHand }).chunks, log },
      start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 5, settleSeconds: 0 },
      channelAccessToken: async () => CHANNEL.channelAccessToken,
      settle: async (settlement) => (await settleDeliveries(db, [settlement])).size === 1,
      onSettled: (outcome, started) => (close ? settled(outcome, started) : undefined),
      ...parts,
    })(message(tenant, { tickets }), context);
    await inHand.drain();
    line.close();
    return outcome;
  };
  const control = async (command: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const url = `${simulator.controlUrl}/__sim/${command}`;
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
  };
  /** Lets time pass for the product and for LINE. */
  const pass = async (seconds: number) => {
    await moveProductTime(db, seconds);
    await control('clock', { advanceMs: seconds * 1_000 });
  };
  /** Sends all that is due, again and again until nothing is, with `replicas` that get each ticket. */
  const sendDue = async ({ replicas = 1 }: { replicas?: number } = {}) => {
    for (;;) {
      const due = await announceDeliveries(db, { limit: 100, againAfterSeconds: 60 });
      if (due.length === 0) return;
      await Promise.all(Array.from({ length: replicas }, () => send(due)));
    }
  };
  return { db, simulator, tenant, published, start, send, control, pass, sendDue };
}

export type Stage = Awaited<ReturnType<typeof stage>>;

/** A started campaign to so many, of whom nobody got anything yet. */
export async function startedTo(
  { db, tenant, start }: Pick<Stage, 'db' | 'tenant' | 'start'>,
  members: number | readonly string[],
  { lid = 'spring', exclude }: { lid?: string; exclude?: { audienceIds?: string[]; userIds?: string[] } } = {},
): Promise<string> {
  const audienceId = await audienceOf(db, tenant, members);
  const { id } = await dueCampaign(db, tenant, { audienceId, exclude, text: `春 🌸 [[lid:${lid}]]` });
  await start(await claimOne(db));
  await db.$client.query('update delivery set published_at = null');
  return id;
}

const message = <Data>(tenant: Tenant, data: Data) => ({
  id: randomUUID(),
  tenant,
  data,
  deliveryCount: 0,
  publishedAt: '',
});

export const membersOf = (count: number): string[] => Array.from({ length: count }, (_, n) => nthUserId('e', n));

export async function audienceOf(db: Db, tenant: Tenant, members: number | readonly string[]): Promise<string> {
  const userIds = typeof members === 'number' ? membersOf(members) : members;
  await db.$client.query(
    `insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[]) on conflict do nothing`,
    [tenant.organizationId, tenant.lineOaId, userIds],
  );
  const audienceId = await createAudience(db, tenant, { name: randomUUID() });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  return audienceId;
}

export async function claimOne(db: Db): Promise<CampaignTicket> {
  const [claimed] = await claimCampaigns(db, { claimedBy: 'd:1', limit: 1 });
  if (claimed === undefined) throw new Error('no campaign was due');
  return claimed.ticket;
}

/** A campaign as a person sees it, whose fence an operation names. @throws Error when there is none. */
export async function campaignSeen(db: Db, tenant: Tenant, id: string): Promise<Ticket> {
  const campaign = await showCampaign(db, tenant, id);
  if (campaign === undefined) throw new Error('there is no such campaign');
  return campaign;
}
