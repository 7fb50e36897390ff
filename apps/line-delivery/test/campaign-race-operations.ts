import { randomUUID } from 'node:crypto';
import {
  type ControlOutcome,
  cancelCampaign,
  claimCampaigns,
  editCampaign,
  pauseCampaign,
  reapCampaigns,
  releaseCampaign,
  rescheduleCampaign,
  resolveCampaign,
  resumeCampaign,
  retryCampaign,
} from '@dueline/campaigns';
import { inTransaction, type Tx } from '@dueline/db';
import {
  cancelCampaignDeliveries,
  retryCampaignDeliveries,
  type StartedSend,
  settleDeliveries,
  startDeliveries,
} from '@dueline/deliveries';
import { closeEnded } from '../src/close-campaigns.ts';
import { startCampaigns } from '../src/start-campaign.ts';
import type { Scene, Seen, StateName } from './campaign-race-stage.ts';

export interface RaceOperation {
  /** The states in which it does what it is for when nobody else is there. */
  readonly does: readonly StateName[];
  /** What it does about a campaign that somebody holds: passes it by; waits for it; or does not look at it. */
  readonly held: 'skips' | 'waits' | 'is apart';
  /** Whether it does what it is for when it finds the campaign so; `seen` is what it was told before. */
  readonly can: (now: Seen, seen: Seen) => boolean;
  readonly perform: (scene: Scene) => Promise<boolean>;
}

const start = { claimedBy: 'line-delivery/test:1', leaseSeconds: 600, settleSeconds: 0 };
const isSame = (now: Seen, seen: Seen) => now.fence === seen.fence && !now.isStopping;

const byPerson =
  (change: (tx: Tx, scene: Scene) => Promise<ControlOutcome>) =>
  async (scene: Scene): Promise<boolean> =>
    (await inTransaction(scene.db, (tx) => change(tx, scene))).result === 'changed';

export const EDITED = 'edited';

async function startTicket({ db, tenant, seen }: Scene): Promise<boolean> {
  const publish = async () => [];
  const data = { ...tenant, campaignId: seen.id, audienceId: null, fence: seen.fence };
  const message = { id: randomUUID(), tenant, data, deliveryCount: 0, publishedAt: '' };
  const handle = startCampaigns({ db, broker: { publish }, claimedBy: 'line-delivery/test:1' });
  return (await handle(message, { signal: new AbortController().signal })).outcome === 'done';
}

/** Of a request that is at LINE, what its worker settles. */
async function settle({ db, tenant, request }: Scene, outcome: 'accepted' | 'not_reached'): Promise<boolean> {
  if (request === undefined) return false;
  const { rows } = await db.$client.query<{ retry_key: string; body: string }>(
    `select retry_key, body from delivery where id = $1 and status = 'sending' and fence = $2`,
    [request.id, request.fence],
  );
  if (rows.length === 0) return false; // nobody owns it
  const started: StartedSend = {
    ...{ ...tenant, ...request, endpoint: 'broadcast', campaignId: null, attemptNo: 1, verdict: 'clean', refusals: 0 },
    ...{
      splitPath: '',
      retryKey: rows[0]?.retry_key ?? '',
      body: rows[0]?.body ?? '',
      intact: true,
      traceparent: null,
    },
  };
  const result = { outcome, ...(outcome === 'accepted' && { httpStatus: 200, lineRequestId: 'x' }) };
  return (await settleDeliveries(db, [{ started, result }])).size === 1;
}

const UNFROZEN = ['scheduled', 'paused before its start'] as const;

export const OPERATIONS = {
  claim: {
    ...{ does: ['scheduled', 'taken back'], held: 'skips', can: ({ status }) => status === 'scheduled' },
    perform: async ({ db }) => (await claimCampaigns(db, { claimedBy: 'd:1', limit: 1 })).length > 0,
  },
  release: {
    ...{ does: ['claimed', 'sending', 'at LINE', 'ended'], held: 'waits' },
    can: (now, seen) => isSame(now, seen) && now.status === 'sending',
    perform: ({ db, tenant, seen }) =>
      releaseCampaign(db, { ...tenant, campaignId: seen.id, audienceId: null, fence: seen.fence }),
  },
  start: {
    ...{ does: ['claimed', 'sending', 'at LINE', 'ended'], held: 'waits' },
    can: (now, seen) => isSame(now, seen) && now.status === 'sending',
    perform: startTicket,
  },
  'chunk start': {
    ...{ does: ['sending'], held: 'waits' },
    can: (now, seen) => now.status === 'sending' && now.request === 'planned' && now.requestFence === seen.requestFence,
    perform: async ({ db, tenant, request }) =>
      (await startDeliveries(db, tenant, { tickets: request === undefined ? [] : [request], start })).length > 0,
  },
  verdict: {
    ...{ does: ['at LINE'], held: 'is apart', can: (now) => now.request === 'sending' },
    perform: (scene) => settle(scene, 'accepted'),
  },
  'verdict that it reached nobody': {
    ...{ does: ['at LINE'], held: 'is apart', can: (now) => now.request === 'sending' },
    perform: (scene) => settle(scene, 'not_reached'),
  },
  close: {
    ...{ does: ['ended', 'stopping'], held: 'waits' },
    can: (now) =>
      (now.status === 'sending' && now.isFrozen && !['planned', 'sending'].includes(now.request ?? '')) ||
      (now.isStopping && now.status !== 'cancel' && now.request !== 'sending'),
    perform: async ({ db }) => (await closeEnded(db)).length > 0,
  },
  reap: {
    ...{ does: ['claimed', 'sending', 'ended'], held: 'skips' },
    can: (now) => now.status === 'sending' && now.request !== 'sending',
    perform: async ({ db }) => (await reapCampaigns(db, { staleSeconds: 60 })) > 0,
  },
  pause: {
    ...{ does: ['scheduled', 'claimed', 'taken back', 'sending', 'at LINE', 'ended'], held: 'waits' },
    can: (now, seen) => isSame(now, seen) && ['scheduled', 'sending'].includes(now.status),
    perform: byPerson((tx, { tenant, seen }) => pauseCampaign(tx, tenant, { campaign: seen })),
  },
  resume: {
    ...{ does: ['paused', 'paused before its start'], held: 'waits' },
    can: (now, seen) => isSame(now, seen) && now.status === 'paused',
    perform: byPerson((tx, { tenant, seen }) =>
      resumeCampaign(tx, tenant, { campaign: seen, retryDeliveries: retryCampaignDeliveries }),
    ),
  },
  cancel: {
    ...{
      does: [...UNFROZEN, 'claimed', 'taken back', 'sending', 'at LINE', 'ended', 'paused', 'needs a person'],
      held: 'waits',
    },
    can: isSame,
    perform: byPerson((tx, { tenant, seen }) =>
      cancelCampaign(tx, tenant, { campaign: seen, stopDeliveries: cancelCampaignDeliveries }),
    ),
  },
  edit: {
    ...{ does: UNFROZEN, held: 'waits', can: (now, seen) => isSame(now, seen) && !now.isFrozen },
    perform: byPerson((tx, { tenant, seen }) =>
      editCampaign(tx, tenant, { campaign: seen, messages: [{ type: 'text', text: EDITED }] }),
    ),
  },
  reschedule: {
    ...{ does: UNFROZEN, held: 'waits', can: (now, seen) => isSame(now, seen) && !now.isFrozen },
    perform: byPerson((tx, { tenant, seen }) =>
      rescheduleCampaign(tx, tenant, { campaign: seen, startDate: '2026-01-02T00:00:00Z' }),
    ),
  },
  retry: {
    ...{ does: ['needs a person'], held: 'waits' },
    can: (now, seen) => isSame(now, seen) && now.status === 'needs_attention',
    perform: byPerson(async (tx, { tenant, seen }) => {
      const how = { acceptDuplicates: false, retryDeliveries: retryCampaignDeliveries };
      return (await retryCampaign(tx, tenant, { campaign: seen, ...how })).outcome;
    }),
  },
  resolve: {
    ...{ does: ['needs a person'], held: 'waits' },
    can: (now, seen) => isSame(now, seen) && now.status === 'needs_attention',
    perform: byPerson((tx, { tenant, seen }) => resolveCampaign(tx, tenant, { campaign: seen })),
  },
} as const satisfies Record<string, RaceOperation>;

export type OperationName = keyof typeof OPERATIONS;
