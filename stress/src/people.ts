import type { Tenant, Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { cancelDeliveries } from '@dueline/deliveries';
import { TransientError } from '@dueline/kernel';
import { type ActionOperation, type OperationOutcome, operate, type Refusal } from '@dueline/scheduled-actions';
import type { OperationKind, Plan, PlannedStep } from './plan.ts';
import { messagesOf } from './write-actions.ts';

/** What people did to an action, as they were told. */
export interface Told {
  /** Of the content that the last accepted edit wrote. */
  version: number;
  /** Whether it shall not arrive. */
  isCancelled: boolean;
}

/** Everything that people did, and what they were told. */
export interface People {
  readonly told: Map<number, Told>;
  readonly counts: Record<OperationKind, number>;
  readonly refused: Map<Refusal, number>;
  /** Changes under a fence that had changed the row already: each is a violation. */
  readonly stale: string[];
}

export const createPeople = (): People => ({
  told: new Map(),
  counts: { edit: 0, postpone: 0, fire_now: 0, cancel: 0, uncancel: 0 },
  refused: new Map(),
  stale: [],
});

interface Target {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly id: string;
}

/** Does to one action what a person planned to do, each step under the fence of that moment. */
export async function operateOn(
  people: People,
  target: Target,
  { n, steps }: Pick<Plan['operations'][number], 'n' | 'steps'>,
): Promise<void> {
  const told: Told = { version: 0, isCancelled: false };
  people.told.set(n, told);
  let edits = 0;
  for (const step of steps) {
    const seen = await ticketOf(target);
    const write = (kind: OperationKind): ActionOperation => {
      if (kind === 'edit') edits += 1;
      return operationOf(n, { ...step, kind }, edits);
    };
    const first = await carryOut(target, seen, write(step.kind));
    note(people, told, { kind: step.kind, version: edits, outcome: first });
    if (!step.hasRival) continue;
    const second = await carryOut(target, seen, write('edit'));
    note(people, told, { kind: 'edit', version: edits, outcome: second });
    if (first.result === 'changed' && second.result === 'changed')
      people.stale.push(`scheduled_action ${target.id}: ${step.kind} and edit under the same fence ${seen.fence}`);
  }
}

function note(
  people: People,
  told: Told,
  { kind, version, outcome }: { kind: OperationKind; version: number; outcome: OperationOutcome },
): void {
  if (outcome.result === 'refused') {
    people.refused.set(outcome.refusal, (people.refused.get(outcome.refusal) ?? 0) + 1);
    return;
  }
  people.counts[kind] += 1;
  if (kind === 'edit') told.version = version;
  if (kind === 'cancel') told.isCancelled = true;
  if (kind === 'uncancel') told.isCancelled = false;
}

function operationOf(n: number, { kind, seconds }: PlannedStep, version: number): ActionOperation {
  if (kind === 'edit') return { kind, messages: messagesOf(n, version) };
  return kind === 'postpone' ? { kind, seconds } : { kind };
}

async function ticketOf({ db, id }: Target): Promise<Ticket> {
  const { rows } = await db.$client.query<{ fence: string }>('select fence from scheduled_action where id = $1', [id]);
  if (rows[0] === undefined) throw new Error(`scheduled_action ${id} is gone`);
  return { id, fence: rows[0].fence };
}

/** As a person's client would, once more when the database was not ready: an operation is whole or nothing. */
async function carryOut(target: Target, ticket: Ticket, operation: ActionOperation): Promise<OperationOutcome> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await operate(target.db, target.tenant, { ticket, operation, by: 'stress', cancelDeliveries });
    } catch (error) {
      if (!(error instanceof TransientError) || tries === 5) throw error;
    }
  }
}

/** A click in plain SQL, as any service that sees clicks would write it. */
export async function click(
  db: Db,
  account: Tenant & { readonly linkId: string },
  { userId, isRobot }: { userId: string; isRobot: boolean },
): Promise<void> {
  await db.$client.query(
    `insert into link_click (organization_id, line_oa_id, tracked_link_id, user_id, idempotency_key, is_robot)
     values ($1, $2, $3, $4, gen_random_uuid(), $5)`,
    [account.organizationId, account.lineOaId, account.linkId, userId, isRobot],
  );
}
