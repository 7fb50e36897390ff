import {
  type BreakerLimits,
  closeBreaker,
  loadBreakers,
  type NotedRefusal,
  noteRefusal,
  takeBreakerProbe,
} from '@dueline/accounts';
import type { Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { findStartable, type Start, type StartedSend, wakeDeliveries } from '@dueline/deliveries';
import type { LineOutcome } from '@dueline/line-client';
import type { Log } from '@dueline/mq';
import { createAcceptedLately } from './accepted-lately.ts';
import { cached } from './cached.ts';

export interface BreakerDeps {
  readonly db: Db;
  readonly log: Log;
  readonly limits: BreakerLimits;
  readonly settleSeconds: Start['settleSeconds'];
  readonly onOpened?: (() => void) | undefined;
}

type Send = Pick<StartedSend, 'id' | 'organizationId' | 'lineOaId'>;

/** Stops the sends of an account for a while when LINE refuses what it finds nothing wrong with. All replicas share it. */
export interface Breaker {
  /** Which of these deliveries may be started: all, or one or none while the breaker is not closed. */
  admit<T extends Ticket>(lineOaId: string, tickets: readonly T[]): Promise<readonly T[]>;
  /** LINE refused a send and named no reason. @param name As `loadRefusals` has it. */
  refused(send: Send, name: string): Promise<NotedRefusal>;
  /** LINE accepted a send: if it was sent to see whether LINE is well, it is. */
  accepted(send: Send, answer: Pick<LineOutcome, 'kind'>): Promise<void>;
  /** How many sends of an account this process saw accepted since a moment of process time (`performance.now()`). */
  acceptedSince(lineOaId: string, sinceMs: number): number;
}

/** How late the breaker of another replica is seen. */
const TTL_MS = 1_000;
/** Deliveries that were sent to see and of which nobody heard: forgotten when there are so many. */
const PROBES_KEPT = 1_000;

export function createBreaker({ db, log, limits, settleSeconds, onOpened }: BreakerDeps): Breaker {
  const breakers = cached(() => loadBreakers(db), TTL_MS);
  const known = new Set<string>();
  const probes = new Set<string>();
  const lately = createAcceptedLately();
  const isOpen = async (lineOaId: string) => known.has(lineOaId) || (await breakers('all')).has(lineOaId);

  return {
    async admit(lineOaId, tickets) {
      if (!(await isOpen(lineOaId))) return tickets;
      // of what can be started now: a ticket that is stale by now, or a menu, tells nothing of LINE, and the next turn is a minute away
      const sends = await findStartable(db, { lineOaId, tickets, settleSeconds });
      const probe = sends[Math.floor(Math.random() * sends.length)]; // not always the one that LINE has a reason to refuse
      if (probe === undefined || !(await takeBreakerProbe(db, { lineOaId, limits }))) {
        if (!(await loadBreakers(db)).has(lineOaId)) known.delete(lineOaId); // another replica closed it
        return [];
      }
      if (probes.size >= PROBES_KEPT) probes.clear();
      probes.add(probe.id);
      return [probe];
    },

    async refused({ id, organizationId, lineOaId }, name) {
      probes.delete(id);
      const noted = await noteRefusal(db, { organizationId, lineOaId, name, limits });
      if (noted.openSeconds > 0 && !known.has(lineOaId)) {
        known.add(lineOaId);
        onOpened?.();
        const about = { lineOaId, seconds: noted.openSeconds };
        log.warn(about, 'LINE refuses what it finds nothing wrong with; sends are held');
      }
      return noted;
    },

    async accepted({ id, organizationId, lineOaId }, { kind }) {
      if (kind === 'accepted') lately.note(lineOaId); // that LINE knows a key tells nothing of new ones
      if (!probes.delete(id)) return;
      known.delete(lineOaId);
      if (!(await closeBreaker(db, { lineOaId, limits }))) return;
      // What was announced in vain meanwhile would come again only after up to ten minutes.
      const woken = await wakeDeliveries(db, { organizationId, lineOaId });
      log.info({ lineOaId, deliveries: woken }, 'LINE accepts again; sends go on');
    },

    acceptedSince: lately.since,
  };
}
