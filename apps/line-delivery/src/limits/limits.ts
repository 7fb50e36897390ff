import type { Tenant, Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { giveBackBroadcastPlaces, postponeDeliveries, takeBroadcastPlaces, takePace } from '@dueline/deliveries';
import type { LineOutcome } from '@dueline/line-client';
import type { Log } from '@dueline/mq';
import type { InHand } from '../in-hand.ts';
import { type AdmissionEvent, createAdmission } from './admission.ts';
import type { Buckets } from './buckets.ts';
import type { Bucket, LimitedEndpoint } from './ceilings.ts';

/** What one queue's deliveries must have before they are started, so that a wait holds no lease and is no attempt. */
export interface Limits {
  /** Those of the tickets that their campaigns' own pace allows now; the others are put back to their places. */
  onPace(tenant: Tenant, tickets: readonly Ticket[]): Promise<readonly Ticket[]>;
  /** Takes slots for the first of these tickets, each with a permit; puts back what would wait too long, and says for how many that was. */
  admit(tenant: Tenant, tickets: readonly Ticket[], signal: AbortSignal): Promise<{ slots: number; putBack: number }>;
  /**
   * Starts those of the tickets that may be: `begin` is told which, and says how they fared. A broadcast that the hour has no
   * place for is put back.
   */
  within<Started extends Ticket>(
    tenant: Tenant,
    tickets: readonly Ticket[],
    begin: (tickets: readonly Ticket[]) => Promise<Started[]>,
  ): Promise<Started[]>;
  /** Told what LINE answered: too many requests halve the account's rate. Never rejects. */
  answered(lineOaId: string, answer: LineOutcome): Promise<void>;
}

export interface LimitsDeps {
  readonly db: Db;
  readonly buckets: Buckets;
  /** The slots of pushes, and those of chunks. */
  readonly inHand: { readonly push: InHand; readonly chunks: InHand };
  readonly log: Log;
  readonly tell: (event: LimitEvent) => void;
}

/** What metrics are made of. `rate`: the part of the ceiling that an account has now. */
export type LimitEvent = AdmissionEvent | ({ readonly type: 'halved' | 'rate'; readonly share: number } & Bucket);

/** Limits for the queue of pushes, and for that of chunks, where a broadcast is limited by the hour besides. */
export function createLimits(deps: LimitsDeps): { readonly push: Limits; readonly chunks: Limits } {
  const buckets: Buckets = {
    ...deps.buckets,
    take: async (bucket, count) => {
      const permits = await deps.buckets.take(bucket, count);
      deps.tell({ type: 'rate', ...bucket, share: permits.share });
      return permits;
    },
  };
  const common = (endpoint: LimitedEndpoint, inHand: InHand): Pick<Limits, 'admit' | 'answered'> => {
    const admission = createAdmission({ buckets, inHand, tell: deps.tell });
    return {
      admit: async (tenant, tickets, signal) => {
        const bucket = { lineOaId: tenant.lineOaId, endpoint };
        const { slots, putBackMs } = await admission(bucket, { atMost: tickets.length, signal });
        const late = tickets.slice(tickets.length - putBackMs.length);
        const postponed = late.map((ticket, n) => ({ ...ticket, waitMs: putBackMs[n] ?? 0 }));
        try {
          await postponeDeliveries(deps.db, tenant, postponed);
        } catch (error) {
          for (let slot = 0; slot < slots; slot += 1) inHand.give();
          throw error;
        }
        return { slots, putBack: late.length };
      },
      answered: async (lineOaId, answer) => noteAnswer(deps, { lineOaId, endpoint }, answer),
    };
  };
  return {
    push: {
      ...common('push', deps.inHand.push),
      onPace: async (_tenant, tickets) => tickets,
      within: (_tenant, tickets, begin) => begin(tickets),
    },
    chunks: {
      ...common('multicast', deps.inHand.chunks),
      onPace: (tenant, tickets) => takePace(deps.db, tenant, tickets),
      within: beginWithinTheHour(deps),
    },
  };
}

const beginWithinTheHour =
  ({ db }: LimitsDeps): Limits['within'] =>
  async (tenant, tickets, begin) => {
    const screened = await takeBroadcastPlaces(db, tenant, tickets);
    const started = await begin(screened.tickets);
    const begun = new Set(started.map(({ id }) => id));
    const unused = screened.broadcasts.filter(({ id }) => !begun.has(id));
    await giveBackBroadcastPlaces(db, tenant, unused.length);
    return started;
  };

/** A text that we do not know counts as the rate: what else it may be is asked elsewhere, and slower is never wrong. */
async function noteAnswer({ buckets, log, tell }: LimitsDeps, bucket: Bucket, answer: LineOutcome): Promise<void> {
  if (answer.kind !== 'throttled' || (answer.reason !== 'rate' && answer.reason !== 'unknown')) return;
  const { halved, share } = await buckets.halve(bucket);
  if (!halved) return;
  tell({ type: 'halved', ...bucket, share });
  log.warn({ ...bucket, share }, 'LINE had too many requests: the account goes on at half its rate');
}
