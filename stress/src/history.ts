import { CAMPAIGN_INVARIANTS } from '@dueline/campaigns';
import { checkInvariants, DB_INVARIANTS, type Db } from '@dueline/db';
import { DELIVERY_INVARIANTS } from '@dueline/deliveries';
import type { Stack } from '@dueline/demo';
import type { ReceiptRow } from '@dueline/line-simulator';
import { SCHEDULED_ACTION_INVARIANTS } from '@dueline/scheduled-actions';
import { TRIGGER_RULE_INVARIANTS } from '@dueline/trigger-rules';

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
  /** What the audit finds. */
  readonly audit: readonly string[];
}

export const CLEAN: History = { lost: [], doubled: [], unplanned: [], violations: [], stuck: [], audit: [] };

interface Facts {
  readonly planned: readonly Planned[];
  readonly receipts: readonly ReceiptRow[];
  /** Whether an action and its message may have ended as cancelled; false unless given. */
  readonly mayCancel?: boolean;
}

const keyOf = ({ user, lid }: Pick<ReceiptRow, 'user' | 'lid'>): string => `${lid ?? 'unmarked'} of ${user}`;

/** Whether everything planned has arrived and no row is open; cheap enough to be asked all the time. */
export async function isOver(
  { database }: Pick<Stack, 'database'>,
  { planned, receipts, mayCancel = false }: Facts,
): Promise<boolean> {
  const received = new Set(receipts.map(keyOf));
  if (planned.some((message) => !received.has(keyOf(message)))) return false;
  return (await openRows(database.db, mayCancel)).length === 0;
}

/** Compares what was planned with what LINE delivered and with what the database says. */
export async function judgeHistory(
  { line, database }: Pick<Stack, 'line' | 'database'>,
  { planned, receipts, mayCancel = false }: Facts,
): Promise<History> {
  const received = Map.groupBy(receipts, keyOf);
  const keys = new Set(planned.map(keyOf));
  const violations = await line.violations();
  return {
    lost: [...keys].filter((key) => !received.has(key)),
    doubled: [...received].filter(([, { length }]) => length > 1).map(([key, { length }]) => `${length} × ${key}`),
    unplanned: [...received.keys()].filter((key) => !keys.has(key)),
    violations: violations.map(({ code, lid, user, detail }) => `${code} ${lid} of ${user}: ${detail}`),
    stuck: await openRows(database.db, mayCancel),
    audit: await auditFindings(database.db),
  };
}

/** Rows that still have something before them, and rows that ended as none should here. */
async function openRows(db: Db, mayCancel: boolean): Promise<string[]> {
  const { rows } = await db.$client.query<{ what: string }>(
    `
    select 'event_outbox ' || id || ' is ' || status as what from event_outbox
    union all
    select 'scheduled_action ' || id || ' is ' || status from scheduled_action
     where status <> 'done' and not ($1 and status = 'cancelled')
    union all
    select 'delivery ' || id || ' is ' || status from delivery where status <> 'accepted' and not ($1 and status = 'cancelled')
    union all
    select 'campaign ' || id || ' is ' || status from campaign where status <> 'sent'`,
    [mayCancel],
  );
  return rows.map(({ what }) => what);
}

/** Twice the interval of the reaper and of the sweeps under fault, and their CAMPAIGN_STALE_SECONDS. */
const LIMITS = { leaseOverSeconds: 2, silentSeconds: 3, overdueSeconds: 2, historyDays: 1 };

/** What the audit finds, in words, under leases and intervals of seconds. */
export async function auditFindings(db: Db): Promise<string[]> {
  const invariants = [
    ...DB_INVARIANTS,
    ...TRIGGER_RULE_INVARIANTS,
    ...SCHEDULED_ACTION_INVARIANTS,
    ...DELIVERY_INVARIANTS,
    ...CAMPAIGN_INVARIANTS,
  ];
  const results = await checkInvariants(db, invariants, LIMITS);
  return results.flatMap(({ id, sample }) => sample.map((what) => `${id}: ${what}`));
}
