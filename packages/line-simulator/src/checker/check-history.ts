import { type CheckOptions, checkOptions, type ExportRecord } from './export-format.ts';
import { createBreachBook, explain, type Finding, type InvariantId } from './findings.ts';
import { createHistory, type History } from './history.ts';
import type { LedgerSource } from './ledger-source.ts';
import { readLedger } from './read-ledger.ts';
import { addRecord } from './read-records.ts';
import {
  type Check,
  honestDoubt,
  honestRefusal,
  noDouble,
  noNeedlessDoubt,
  noneLost,
  noPhantom,
  termination,
} from './recipient-invariants.ts';
import { accounting, exactAcceptRecord, keyDiscipline, pacing, stopped } from './request-invariants.ts';

const INVARIANTS: Record<InvariantId, (check: Check) => void> = {
  H1: noDouble,
  H2: noneLost,
  H3: noPhantom,
  H4: honestRefusal,
  H5: honestDoubt,
  H6: noNeedlessDoubt,
  H7: termination,
  H8: keyDiscipline,
  H9: pacing,
  H10: stopped,
  H11: accounting,
  H12: exactAcceptRecord,
};

/** What a history came to. */
export interface HistoryReport {
  /** Whether every invariant that was checked holds. */
  readonly ok: boolean;
  /** Breaches of each invariant, 0 where it holds. */
  readonly counts: Readonly<Record<InvariantId, number>>;
  /** Invariants that could not be checked, because the options do not say when the faults or the run ended. */
  readonly skipped: readonly InvariantId[];
  /** How much there was to check: nothing is proved by an empty history. */
  readonly checked: Readonly<Record<'recipients' | 'attempts' | 'requests' | 'accepts' | 'receipts', number>>;
  /** What the ledger says of the client, by code; those that belong to no invariant are not breaches. */
  readonly violations: Readonly<Record<string, number>>;
  /** The first breaches of each invariant in full. */
  readonly findings: readonly Finding[];
}

export interface HistoryToCheck extends CheckOptions {
  /** The whole ledger of a simulator at rest. */
  readonly ledger: LedgerSource;
  /** What the client says of itself. */
  readonly records: Iterable<ExportRecord> | AsyncIterable<ExportRecord>;
}

/**
 * Compares what a client says it sent with what its users received, and checks H1 to H12; the README says what each
 * promises. It reads every row once, and keeps about 500 bytes of a recipient with a key of its own.
 *
 * @throws ZodError if the options are not well formed, PermanentError if rows of the ledger are missing, and whatever
 * the iterables throw.
 */
export async function checkHistory({ ledger, records, ...options }: HistoryToCheck): Promise<HistoryReport> {
  const settings = checkOptions.parse(options);
  const history = createHistory();
  await readLedger(history, ledger);
  for await (const record of records) addRecord(history, record);

  const breaches = createBreachBook(settings.findingsEach);
  for (const check of Object.values(INVARIANTS)) check({ history, settings, breaches });
  const counts = Object.fromEntries(
    Object.keys(INVARIANTS).map((id) => [id, breaches.counts.get(id as InvariantId) ?? 0]),
  ) as Record<InvariantId, number>;
  const skipped: InvariantId[] = [];
  if (settings.faultsEndedAt === undefined) skipped.push('H6');
  if (settings.faultsEndedAt === undefined || settings.endedAt === undefined) skipped.push('H7');
  return {
    ok: breaches.kept.length === 0,
    counts,
    skipped,
    checked: checkedOf(history),
    violations: Object.fromEntries(
      [...Map.groupBy(history.violations, ({ code }) => code)].map(([code, rows]) => [code, rows.length]),
    ),
    findings: explain(history, breaches.kept, settings.seed ?? null),
  };
}

function checkedOf({ pairs, attempts, requests, accepts, counts }: History): HistoryReport['checked'] {
  let recipients = 0;
  for (let index = 0; index < pairs.count; index += 1) recipients += pairs.planned.get(index);
  return {
    recipients,
    attempts: attempts.lid.length,
    requests: requests.at.length,
    accepts: accepts.at.length,
    receipts: counts.receipts,
  };
}
