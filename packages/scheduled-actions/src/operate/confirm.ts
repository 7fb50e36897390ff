import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql, type Tx } from '@dueline/db';
import { PermanentError, tokenDigest } from '@dueline/kernel';
import { applyOperation, type CancelDeliveries, type OnRunAnew, type OperationOutcome } from './apply.ts';
import { type ActionOperation, actionOperation, parseOrRefuse } from './operation.ts';
import type { Refusal } from './refusal.ts';

/** What a confirmed operation did. */
export interface OperationReport {
  readonly kind: ActionOperation['kind'];
  /** Actions that were changed, */
  readonly changed: number;
  /** that were done already, so that their message was stopped instead, */
  readonly deliveriesCancelled: number;
  /** and that were left as they are, by reason. */
  readonly refused: Readonly<Partial<Record<Refusal, number>>>;
  /** Some of these. */
  readonly refusedSamples: readonly { readonly id: string; readonly refusal: Refusal }[];
}

export interface Confirmation {
  readonly token: string;
  /** Refused when the preview was of something else; undefined: whatever it was of. */
  readonly kind?: ActionOperation['kind'] | undefined;
  readonly by: string;
  readonly cancelDeliveries: CancelDeliveries;
  readonly onRunAnew?: OnRunAnew | undefined;
}

/** Refused actions that a report names, of each step and all together. */
const SAMPLES = 20;

/**
 * Carries out what was previewed, on exactly the rows that were previewed: whatever has a new fence since (it was taken up,
 * decided, changed) is left as it is and counted. At most 500 rows in a transaction, in id order, so workers go on meanwhile.
 *
 * A confirmation that was interrupted goes on where it stopped when it is repeated; a repeat of a whole one changes nothing and
 * tells the same. Two at once share the work.
 *
 * @throws PermanentError when the token is of no preview of this account, of another operation, or too old.
 */
export async function confirmOperation(db: Db, tenant: Tenant, confirmation: Confirmation): Promise<OperationReport> {
  const id = await inTenant(db, tenant, (tx) => take(tx, confirmation));
  for (;;) {
    const isMore = await inTenant(db, tenant, (tx) => carryOutStep(tx, { tenant, id, ...confirmation }));
    if (!isMore) return inTenant(db, tenant, (tx) => report(tx, id));
  }
}

type OperationRow = {
  id: string;
  operation: unknown;
  kind: ActionOperation['kind'];
  reason: string | null;
  confirmed_by: string | null;
  is_old: boolean;
};

async function lockOperation(tx: Tx, where: ReturnType<typeof sql>): Promise<OperationRow | undefined> {
  const { rows } = await tx.execute<OperationRow>(sql`
    select id, operation, operation ->> 'kind' as kind, reason, confirmed_by, expires_at < app_now() as is_old
      from action_operation where ${where} for update`);
  return rows[0];
}

/** Marks it as confirmed, so that it may go on from now on, however long it takes. */
async function take(tx: Tx, { token, kind, by }: Confirmation): Promise<string> {
  const row = await lockOperation(tx, sql`token_sha256 = ${tokenDigest(token)}`);
  if (row === undefined) throw new PermanentError('no preview of this account has this token');
  if (kind !== undefined && row.kind !== kind) {
    throw new PermanentError(`the preview was of ${row.kind}, not of ${kind}`);
  }
  if (row.confirmed_by === null) {
    if (row.is_old) throw new PermanentError('the preview is too old; look again');
    await tx.execute(
      sql`update action_operation set confirmed_by = ${by}, confirmed_at = app_now() where id = ${row.id}`,
    );
  }
  return row.id;
}

type StepRow = { n: number; tickets: { id: string; fence: string }[] };

/** One step in one transaction; false when none is left. Whoever confirms the same holds the operation meanwhile. */
async function carryOutStep(
  tx: Tx,
  { tenant, id, cancelDeliveries, onRunAnew }: Confirmation & { tenant: Tenant; id: string },
): Promise<boolean> {
  const row = await lockOperation(tx, sql`id = ${id}`);
  if (row === undefined) throw new PermanentError('the preview is gone');
  const { rows } = await tx.execute<StepRow>(sql`
    select n, (select jsonb_agg(jsonb_build_object('id', id::text, 'fence', fence::text) order by id)
                 from unnest(action_ids, fences) as ticket (id, fence)) as tickets
      from action_operation_step where operation_id = ${id} and outcome is null order by n limit 1`);
  const [step] = rows;
  if (step === undefined) return false;
  const outcomes = await applyOperation(tx, {
    ...{ tenant, tickets: step.tickets, cancelDeliveries, onRunAnew },
    operation: parseOrRefuse('operation', actionOperation, row.operation),
    by: row.confirmed_by ?? 'unknown',
    why: row.reason ?? undefined,
  });
  await tx.execute(sql`
    update action_operation_step set outcome = ${JSON.stringify(countOutcomes(outcomes))}::jsonb
     where operation_id = ${id} and n = ${step.n}`);
  return true;
}

type StepOutcome = Omit<OperationReport, 'kind'>;

function countOutcomes(outcomes: readonly OperationOutcome[]): StepOutcome {
  const refusals = outcomes.flatMap((outcome) => (outcome.result === 'refused' ? [outcome] : []));
  const refused: Partial<Record<Refusal, number>> = {};
  for (const { refusal } of refusals) refused[refusal] = (refused[refusal] ?? 0) + 1;
  return {
    changed: outcomes.filter(({ result }) => result === 'changed').length,
    deliveriesCancelled: outcomes.filter(({ result }) => result === 'delivery_cancelled').length,
    refused,
    refusedSamples: refusals.slice(0, SAMPLES).map(({ id, refusal }) => ({ id, refusal })),
  };
}

async function report(tx: Tx, id: string): Promise<OperationReport> {
  const { rows } = await tx.execute<{ kind: ActionOperation['kind']; outcome: StepOutcome }>(sql`
    select operation.operation ->> 'kind' as kind, step.outcome
      from action_operation as operation join action_operation_step as step on step.operation_id = operation.id
     where operation.id = ${id} order by step.n`);
  const refused: Partial<Record<Refusal, number>> = {};
  for (const { outcome } of rows) {
    for (const [reason, times] of Object.entries(outcome.refused)) {
      refused[reason as Refusal] = (refused[reason as Refusal] ?? 0) + times;
    }
  }
  const [first] = rows;
  if (first === undefined) throw new Error('a confirmed operation has no steps');
  return {
    kind: first.kind,
    changed: rows.reduce((sum, { outcome }) => sum + outcome.changed, 0),
    deliveriesCancelled: rows.reduce((sum, { outcome }) => sum + outcome.deliveriesCancelled, 0),
    refused,
    refusedSamples: rows.flatMap(({ outcome }) => outcome.refusedSamples).slice(0, SAMPLES),
  };
}
