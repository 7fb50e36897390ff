import { openAttention } from '@dueline/attention';
import { type Db, inTransaction } from '@dueline/db';
import type { Log } from '@dueline/mq';
import { safeErrorText } from '@dueline/runtime';
import { type Cycle, countPageFailure, failCycle, keepCycle, type PageResult } from '@dueline/scheduled-cycles';
import { isNotReady } from './split.ts';

/** How a cycle is read. */
export interface Reading {
  readonly db: Db;
  readonly log: Pick<Log, 'error'>;
  readonly cycle: Cycle;
  readonly leaseSeconds: number;
  /** How many people a whole page looks at, once one was begun. */
  readonly whole: { readonly size: number };
  readonly isStopping: () => boolean;
  /** Reads the next page, of so many people at most. */
  readonly page: (limit?: number) => Promise<PageResult>;
  /** Passes the next person, who has a failed action then. */
  readonly giveUpPerson: (error: string) => Promise<PageResult>;
}

const LOST: PageResult = { result: 'lost' };

/**
 * Reads the next page; one that cannot be read, in halves, and so on. A single person for whom it fails again and again is given up, and after some of
 * them in a row the cycle is. When the world is not ready it throws and counts nothing: what it would write down does not succeed either.
 */
export async function readOrSplit(reading: Reading, limit?: number): Promise<PageResult> {
  const { db, cycle, leaseSeconds, whole } = reading;
  try {
    return await reading.page(limit);
  } catch (error) {
    if (isNotReady(error) || reading.isStopping()) throw error;
    if (!(await keepCycle(db, cycle, { leaseSeconds }))) return LOST;
    if (limit === 1) return afterFailure(reading, error);
  }
  const size = limit ?? whole.size;
  const first = await readOrSplit(reading, Math.ceil(size / 2));
  if (first.result === 'lost' || first.isLast || size === 1) return first;
  const second = await readOrSplit(reading, Math.floor(size / 2));
  return second.result === 'lost' ? second : { ...second, people: first.people + second.people };
}

async function afterFailure(reading: Reading, error: unknown): Promise<PageResult> {
  const { db, log, cycle, leaseSeconds } = reading;
  const what = await countPageFailure(db, cycle, { leaseSeconds });
  log.error({ err: error, cycle: cycle.id, what }, 'a person of a cycle could not be given what its rule does');
  if (what === 'person') {
    try {
      return await reading.giveUpPerson(safeErrorText(error));
    } catch (second) {
      if (isNotReady(second)) throw second;
      log.error({ err: second, cycle: cycle.id }, 'the next person of a cycle cannot be read');
      return giveUp(reading, second);
    }
  }
  return what === 'cycle' ? giveUp(reading, error) : LOST;
}

async function giveUp({ db, cycle }: Reading, error: unknown): Promise<PageResult> {
  const { organizationId, lineOaId, triggerRuleId } = cycle;
  const item = { organizationId, lineOaId, kind: 'rule_failed', refId: triggerRuleId, userId: null } as const;
  await inTransaction(db, async (tx) => {
    if (await failCycle(tx, cycle, safeErrorText(error)))
      await openAttention(tx, [{ ...item, reasonCode: 'decision_failed', detail: { cycle: cycle.id } }]);
  });
  return LOST;
}
