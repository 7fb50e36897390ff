import { ACCOUNT_INVARIANTS } from '@dueline/accounts';
import { CAMPAIGN_INVARIANTS } from '@dueline/campaigns';
import { type AuditLimits, checkInvariants, DB_INVARIANTS, type Db, type Invariant, openDatabase } from '@dueline/db';
import { DELIVERY_INVARIANTS } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import { RICH_MENU_INVARIANTS } from '@dueline/rich-menus';
import { SCHEDULED_ACTION_INVARIANTS } from '@dueline/scheduled-actions';
import { SCHEDULED_CYCLE_INVARIANTS } from '@dueline/scheduled-cycles';
import { TRIGGER_RULE_INVARIANTS } from '@dueline/trigger-rules';
import { loadAuditConfig } from './config.ts';

/** Everything that must be true of the data, whatever crashed. */
export const INVARIANTS: readonly Invariant[] = [
  ...DB_INVARIANTS,
  ...ACCOUNT_INVARIANTS,
  ...TRIGGER_RULE_INVARIANTS,
  ...SCHEDULED_ACTION_INVARIANTS,
  ...SCHEDULED_CYCLE_INVARIANTS,
  ...DELIVERY_INVARIANTS,
  ...CAMPAIGN_INVARIANTS,
  ...RICH_MENU_INVARIANTS,
];

/** Whole tables are read: longer than any worker may take. */
const STATEMENT_TIMEOUT_MS = 600_000;

/** What was checked; `ok` when nothing offends. */
export async function audit(db: Db, limits: AuditLimits) {
  const checks = await checkInvariants(db, INVARIANTS, limits);
  return { ok: checks.every(({ violations }) => violations === 0), checks };
}

type Report = Awaited<ReturnType<typeof audit>>;

/** Prints what was checked, as a table or as one JSON object. @throws PermanentError when something offends. */
export async function runAudit(options: {
  env: NodeJS.ProcessEnv;
  print: (line: string) => void;
  json: boolean;
}): Promise<void> {
  const config = loadAuditConfig(options.env);
  const { db, close } = openDatabase({
    url: config.DATABASE_URL,
    applicationName: 'audit',
    maxConnections: 1,
    onError: () => undefined, // the statement in hand throws
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  try {
    const report = await audit(db, {
      leaseOverSeconds: config.AUDIT_LEASE_OVER_SECONDS,
      silentSeconds: config.AUDIT_SILENT_SECONDS,
      overdueSeconds: config.AUDIT_OVERDUE_SECONDS,
      historyDays: config.AUDIT_HISTORY_DAYS,
    });
    for (const line of options.json ? [JSON.stringify(report)] : tableOf(report)) options.print(line);
    if (!report.ok) throw new PermanentError('the data is not as it must be');
  } finally {
    await close();
  }
}

const tableOf = ({ checks }: Report): string[] =>
  checks.flatMap(({ id, says, violations, sample }) => [
    `${(violations === 0 ? 'ok' : String(violations)).padStart(6)}  ${id.padEnd(20)}  ${says}`,
    ...sample.map((what) => `${' '.repeat(8)}${what}`),
  ]);
