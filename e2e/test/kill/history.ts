import type { Stack } from '@dueline/demo';
import type { ReceiptRow } from '@dueline/line-simulator';

/** A message that somebody is to get exactly once. */
export interface Planned {
  readonly user: string;
  /** The mark in its text, which no retry key changes. */
  readonly lid: string;
}

/** What is wrong with a history, in words; every list is empty when nothing is. */
export interface History {
  /** Planned and not received. */
  readonly lost: readonly string[];
  /** Received more than once. */
  readonly doubled: readonly string[];
  /** Received though not planned. */
  readonly unplanned: readonly string[];
  /** Breaches of LINE's contract, since the beginning. */
  readonly violations: readonly string[];
  /** Rows that are not at their end. */
  readonly stuck: readonly string[];
}

export const CLEAN: History = { lost: [], doubled: [], unplanned: [], violations: [], stuck: [] };

/** Compares what was planned with what LINE delivered and with what the database says. */
export async function judgeHistory(
  { line, database }: Pick<Stack, 'line' | 'database'>,
  { planned, receipts }: { planned: readonly Planned[]; receipts: readonly ReceiptRow[] },
): Promise<History> {
  const received = Map.groupBy(receipts, ({ user, lid }) => `${lid ?? 'unmarked'} of ${user}`);
  const keys = new Set(planned.map(({ user, lid }) => `${lid} of ${user}`));
  const violations = await line.violations();
  return {
    lost: [...keys].filter((key) => !received.has(key)),
    doubled: [...received].filter(([, { length }]) => length > 1).map(([key, { length }]) => `${length} × ${key}`),
    unplanned: [...received.keys()].filter((key) => !keys.has(key)),
    violations: violations.map(({ code, lid, user, detail }) => `${code} ${lid} of ${user}: ${detail}`),
    stuck: await openRows(database),
  };
}

/** Rows that still have something before them, and rows that ended as none should here. */
async function openRows({ db }: Stack['database']): Promise<string[]> {
  const { rows } = await db.$client.query<{ what: string }>(`
    select 'event_outbox ' || id || ' is ' || status as what from event_outbox
    union all
    select 'scheduled_action ' || id || ' is ' || status from scheduled_action where status <> 'done'
    union all
    select 'delivery ' || id || ' is ' || status from delivery where status <> 'accepted'`);
  return rows.map(({ what }) => what);
}
