import { createHash } from 'node:crypto';
import { type BreakerLimits, closeBreaker, loadBreakers, noteRefusal, takeBreakerProbe } from '@dueline/accounts';
import type { Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { StartedSend } from '@dueline/deliveries';
import type { LineAccountClient, Validation } from '@dueline/line-client';
import type { Log } from '@dueline/mq';
import { cached } from './cached.ts';

/**
 * What a clean 400 means. `content`: LINE would refuse these messages to anybody. `recipients`: the messages are fine and LINE is well, so
 * it is somebody among those who should get them: one that the answer names, or to be found. `holdMs`: nobody can tell yet.
 */
export type RefusalVerdict = 'content' | 'recipients' | { readonly holdMs: number };

export interface RefusalDeps {
  readonly db: Db;
  readonly line: Pick<LineAccountClient, 'validate'>;
  readonly log: Log;
  readonly limits: BreakerLimits;
  readonly onOpened?: (() => void) | undefined;
}

export interface RefusedAnswer {
  readonly detail: string;
  readonly token: string;
}

const SECOND_MS = 1_000;
/** Validated content is believed so long; a breaker stays open for longer, so what comes after it is validated anew. */
const VALIDATION_TTL_MS = 60_000;
const VALIDATIONS_KEPT = 1_000;
/** After LINE did not say whether it is the content. */
const UNKNOWN_MS = 60_000;
/** How late the breaker of another replica is seen. */
const BREAKERS_TTL_MS = 1_000;
/** LINE names who cannot be reached, by place; of a push in words of its own. */
const NAMES_RECIPIENT = /'to(\[\d+\])?'|; to(\[\d+\])?:|Failed to send messages/;

/** Whether an answer names who of its recipients is refused. */
export const namesRecipient = (detail: string): boolean => NAMES_RECIPIENT.test(detail);

/**
 * Whose fault a refusal is, and what stops sends when it is LINE's. A refusal for no reason counts towards the breaker, which all
 * replicas share; that delivery is asked once more, after the time in which others would have opened it. So an outage in which
 * five deliveries are refused fails nobody, from the first refusal on. One that meets fewer, twice, or the parts of a chunk that is being split,
 * is not told from the fault of a recipient.
 */
export function createRefusalJudge({ db, line, log, limits, onOpened }: RefusalDeps) {
  const breakers = cached(() => loadBreakers(db), BREAKERS_TTL_MS);
  const known = new Set<string>();
  const probes = new Set<string>();
  const validate = cachedValidation(line);

  const isOpen = async (lineOaId: string) => known.has(lineOaId) || (await breakers('all')).has(lineOaId);

  return {
    /** Which of these deliveries may be started: all, or one or none while the breaker is not closed. */
    async admit<T extends Ticket>(lineOaId: string, tickets: readonly T[]): Promise<readonly T[]> {
      if (!(await isOpen(lineOaId))) return tickets;
      const [probe] = tickets;
      if (probe === undefined || !(await takeBreakerProbe(db, { lineOaId, limits }))) {
        if (!(await loadBreakers(db)).has(lineOaId)) known.delete(lineOaId); // another replica closed it
        return [];
      }
      probes.add(probe.id);
      return [probe];
    },

    async judge(delivery: StartedSend, { detail, token }: RefusedAnswer): Promise<RefusalVerdict> {
      const { lineOaId } = delivery;
      const wasProbe = probes.delete(delivery.id);
      const validation = await validate(delivery, token);
      if (validation === 'bad') return 'content';
      if (validation === 'unknown') return { holdMs: UNKNOWN_MS };
      if (namesRecipient(detail)) return 'recipients';
      const isOfSplit = delivery.splitPath !== '';
      if (isOfSplit && !wasProbe && !(await isOpen(lineOaId))) return 'recipients'; // its siblings would open it
      const openSeconds = await noteRefusal(db, { ...delivery, limits });
      if (openSeconds > 0) {
        if (!known.has(lineOaId)) {
          known.add(lineOaId);
          onOpened?.();
          log.warn({ lineOaId, seconds: openSeconds }, 'LINE refuses what it finds nothing wrong with; sends are held');
        }
        return { holdMs: spread(openSeconds) };
      }
      return delivery.refusals > 0 ? 'recipients' : { holdMs: spread(limits.withinSeconds) };
    },

    /** LINE accepted a delivery: if it was sent to see whether LINE is well, it is. */
    async accepted({ id, lineOaId }: Pick<StartedSend, 'id' | 'lineOaId'>): Promise<void> {
      if (!probes.delete(id)) return;
      known.delete(lineOaId);
      if (await closeBreaker(db, { lineOaId })) log.info({ lineOaId }, 'LINE accepts again; sends go on');
    },
  };
}

/** So long, and up to a tenth more: what was held together does not come back together. */
const spread = (seconds: number): number => Math.ceil(seconds * SECOND_MS * (1 + Math.random() / 10));

/** Asks LINE about content once for a while, however many are refused with it. */
function cachedValidation(line: RefusalDeps['line']) {
  const seen = new Map<string, { readonly said: Promise<Validation>; readonly untilMs: number }>();
  return async ({ endpoint, body }: StartedSend, channelAccessToken: string): Promise<Validation> => {
    const { messages }: { messages?: unknown } = JSON.parse(body);
    const key = createHash('sha256')
      .update(`${endpoint} ${JSON.stringify(messages)}`)
      .digest('hex');
    const before = seen.get(key);
    if (before !== undefined && before.untilMs > performance.now()) return before.said;
    const said = line.validate(endpoint, { channelAccessToken, messages });
    if (seen.size >= VALIDATIONS_KEPT) seen.clear();
    seen.set(key, { said, untilMs: performance.now() + VALIDATION_TTL_MS });
    if ((await said) === 'unknown') seen.delete(key);
    return said;
  };
}
