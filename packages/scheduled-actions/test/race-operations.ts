import type { Tenant, TenantTicket, Ticket } from '@dueline/contracts';
import { type Db, inTransaction, lockUsers, sql, type Tx } from '@dueline/db';
import {
  type ActionOperation,
  type ActionOutcome,
  type BranchedAction,
  type CancelDeliveries,
  cancelOfDeletedRules,
  cancelReason,
  checkAndCompleteDelayWait,
  decideBranches,
  failedDecision,
  finishActions,
  finishDue,
  type HeldAction,
  holdActions,
  holdDue,
  lookForFacts,
  operate,
  recomputeAnchored,
  recoverActionsInHand,
  recoverStaleProcessing,
  releaseActions,
  releaseUntaken,
  requestOnBranch,
} from '@dueline/scheduled-actions';
import { insertFact } from './facts.ts';
import type { RowSeen, StateName } from './race-states.ts';
import { CLAIM, claim } from './support.ts';

/** One row, as whoever comes to it has it: what a person saw, and the ticket of a worker (an old one unless the row is claimed). */
export interface Scene {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly state: StateName;
  readonly seen: Ticket;
  readonly ticket: TenantTicket;
  readonly ruleId: string;
  readonly linkId: string;
  readonly userId: string;
  readonly bookingId: string;
  /** When the fact happened that the row may wait for: within its window. */
  readonly factAt: string;
  /** Holds the transaction of who comes first until it may commit; for what locks the row and does not write it. */
  readonly beforeCommit: (tx: Tx) => Promise<void>;
}

/** A decision that was committed. */
export interface Decision {
  readonly to: 'done' | 'cancelled';
  readonly branch: string;
  readonly text: string | undefined;
}

/** What an operation says that it did to the row. */
export interface Told {
  readonly moves: number;
  readonly tickets?: readonly TenantTicket[];
  readonly decisions?: readonly Decision[];
  /** What the fact heard of the branch; undefined: it met nothing. */
  readonly factBranch?: string | null;
}

export interface RaceOperation {
  /** The states of a row that it moves when nobody else is there. */
  readonly moves: readonly StateName[];
  /**
   * What it does about a row that somebody holds: `skips` it; waits, and then finds another `fence` than it names; or waits and judges by
   * what it `sees` then.
   */
  readonly held: 'skips' | 'fence' | ((row: RowSeen) => boolean);
  readonly perform: (scene: Scene) => Promise<Told>;
}

const ruleIsDeleted = async (tx: Tx, ruleId: string): Promise<boolean> => {
  const { rows } = await tx.execute(sql`select from trigger_rule where id = ${ruleId} and deleted_date is not null`);
  return rows.length > 0;
};

const writeLog = (
  tx: Tx,
  { tenant, userId, seen, ruleId }: Pick<Scene, 'tenant' | 'userId' | 'seen' | 'ruleId'>,
  [decision, reason]: [decision: string, reason: string],
) =>
  tx.execute(sql`
    insert into trigger_log (organization_id, line_oa_id, trigger_rule_id, user_id, trigger_on, decision, reason_code, scheduled_action_id)
    values (${tenant.organizationId}, ${tenant.lineOaId}, ${ruleId}, ${userId}, 'schedule', ${decision}, ${reason}, ${seen.id})`);

/** What a worker does with a claimed row: the transaction that holds, decides, finishes and writes the history. */
export const decide = async (scene: Scene, ticket: TenantTicket = scene.ticket): Promise<Told> =>
  inTransaction(scene.db, async (tx) => {
    const [action] = await decideBranches(tx, await holdActions(tx, [ticket]));
    if (action === undefined) return { moves: 0 };
    const { outcome, decision } = outcomeOf(action, await ruleIsDeleted(tx, scene.ruleId));
    const moved = await finishActions(tx, [outcome]);
    if (moved.size === 0) return { moves: 0 };
    await writeLog(tx, scene, decision.to === 'done' ? ['fired', 'due'] : ['cancelled', 'conditions_no_longer_hold']);
    return { moves: 1, decisions: [decision] };
  });

function outcomeOf(action: BranchedAction, isDeleted: boolean): { outcome: ActionOutcome; decision: Decision } {
  const { id, fence, branch } = action;
  const request = requestOnBranch(action);
  const reason = cancelReason({
    ...{ rule: isDeleted ? 'deleted' : 'live', isFollowing: true, conditionsHold: true },
    branchRuns: request !== undefined,
  });
  const text = request?.actionType === 'send_message' ? request.actionConfig.messages[0]?.text : undefined;
  if (reason === undefined)
    return { outcome: { id, fence, to: 'done', branch }, decision: { to: 'done', branch, text } };
  return { outcome: { id, fence, to: 'cancelled', reason, branch }, decision: { to: 'cancelled', branch, text } };
}

/** What the inline profile does with everything that is due: locked, decided and written once. */
const decideDue = (scene: Scene): Promise<Told> =>
  inTransaction(scene.db, async (tx) => {
    const actions = await decideBranches(tx, await holdDue(tx, CLAIM));
    const decisions: Decision[] = [];
    for (const action of actions) {
      const ruleId = action.triggerRuleId ?? scene.ruleId;
      const { outcome, decision } = outcomeOf(action, await ruleIsDeleted(tx, ruleId));
      if ((await finishDue(tx, [outcome], CLAIM)).size === 0) throw new Error('a row that was locked did not move');
      const { userId, id, fence, organizationId, lineOaId } = action;
      const row = { tenant: { organizationId, lineOaId }, userId, seen: { id, fence }, ruleId };
      await writeLog(tx, row, decision.to === 'done' ? ['fired', 'due'] : ['cancelled', 'conditions_no_longer_hold']);
      decisions.push(decision);
    }
    return { moves: decisions.length, decisions };
  });

/** The same for a decision that throws. */
const failToDecide = ({ db, ticket }: Scene): Promise<Told> =>
  inTransaction(db, async (tx) => {
    const held: HeldAction[] = await holdActions(tx, [ticket]);
    const outcomes = held.map((action) => failedDecision(action, { error: 'it broke', fatal: false }));
    return { moves: (await finishActions(tx, outcomes)).size };
  });

const click = ({ db, tenant, userId, linkId, factAt }: Scene) =>
  insertFact(db, tenant, { table: 'link_click', user_id: userId, tracked_link_id: linkId, occurred_at: factAt });

/** A click is committed by whoever saw it, and then a consumer tells it. */
async function tellClick(scene: Scene): Promise<Told> {
  await click(scene);
  const fact = { ...scene.tenant, userId: scene.userId, source: 'link', refId: scene.linkId } as const;
  return inTransaction(scene.db, async (tx) => {
    await lockUsers(tx, [fact]);
    const met = await checkAndCompleteDelayWait(tx, [
      { ...fact, occurredAt: scene.factAt, eventId: crypto.randomUUID() },
    ]);
    if (met.length > 0) await scene.beforeCommit(tx);
    return {
      moves: met.filter(({ result }) => result === 'completed').length,
      ...(met[0] && { factBranch: met[0].branch }),
    };
  });
}

/** A person deletes the rule, and then the sweep finds what waits for it. */
async function deleteRule(scene: Scene): Promise<Told> {
  await scene.db.execute(sql`update trigger_rule set deleted_date = app_now() where id = ${scene.ruleId}`);
  return sweep(scene);
}

export const sweep = (scene: Scene): Promise<Told> =>
  inTransaction(scene.db, async (tx) => {
    const swept = await cancelOfDeletedRules(tx);
    for (const { id, userId, triggerRuleId, ...tenant } of swept) {
      const row = { tenant, userId, seen: { id, fence: '0' }, ruleId: triggerRuleId ?? scene.ruleId };
      await writeLog(tx, row, ['cancelled', 'rule_deleted']);
    }
    return { moves: swept.length };
  });

/** The process that had the row alone in hand is dead. */
async function findDead({ db, seen }: Scene): Promise<Told> {
  await insertHand(db, seen.id);
  const { deaths } = await recoverActionsInHand(db, { leaseOver: true });
  return { moves: deaths };
}

const insertHand = (db: Db, id: string) =>
  db.execute(sql`
    insert into batch_in_hand (claimed_by, kind, ids, lease_until)
    values (${`trigger-1:${crypto.randomUUID()}`}, 'action', array[${id}::bigint], clock_timestamp() - interval '1 second')`);

/** The date that the row hangs on is another now; and then a consumer tells it. */
async function moveDate({ db, tenant, userId, bookingId }: Scene): Promise<Told> {
  await db.execute(
    sql`update booking set starts_at = clock_timestamp() + interval '30 minutes' where id = ${bookingId}`,
  );
  const person = { ...tenant, userId };
  return inTransaction(db, async (tx) => {
    await lockUsers(tx, [person]);
    return { moves: (await recomputeAnchored(tx, [{ ...person, anchor: { bookingId } }])).length };
  });
}

/** No message of the row is known. */
const noneOfIts: CancelDeliveries = () => Promise.resolve([]);

const byPerson =
  (operationIn: (state: StateName) => ActionOperation) =>
  async ({ db, tenant, seen, state }: Scene): Promise<Told> => {
    const outcome = await operate(db, tenant, {
      ...{ ticket: seen, operation: operationIn(state), by: 'mika', cancelDeliveries: noneOfIts },
    });
    // What runs anew may meet a fact at once, under yet another fence.
    return { moves: outcome.result === 'changed' ? Number(outcome.fence) - Number(seen.fence) : 0 };
  };

export const EDITED = 'edited';
const editing = (): ActionOperation => ({
  kind: 'edit',
  at: new Date(Date.now() + 3_600_000).toISOString(),
  messages: [{ type: 'text', text: EDITED }],
});

const CLAIMED = ['claimed', 'claimed wait'] as const;
const WAITING = ['waiting', 'overdue wait'] as const;
const OPEN = ['due', ...WAITING, ...CLAIMED] as const;
const isOpen = ({ status }: RowSeen) => status === 'pending' || status === 'processing';

export const OPERATIONS = {
  claim: {
    ...{ moves: ['due', 'overdue wait'], held: 'skips' },
    perform: async ({ db }) => {
      const tickets = await claim(db);
      return { moves: tickets.length, tickets };
    },
  },
  'decide inline': { moves: ['due', 'overdue wait'], held: 'skips', perform: decideDue },
  'hold and finish': { moves: CLAIMED, held: 'fence', perform: decide },
  expire: { moves: ['claimed wait'], held: 'fence', perform: decide },
  release: {
    ...{ moves: CLAIMED, held: 'fence' },
    perform: async ({ db, ticket }) => ({ moves: await releaseActions(db, [ticket]) }),
  },
  reap: {
    ...{ moves: CLAIMED, held: 'skips' },
    perform: async ({ db }) => ({ moves: await recoverStaleProcessing(db) }),
  },
  fact: {
    ...{ moves: WAITING, held: (row) => row.status === 'pending' && row.expires_at !== null && row.branch === null },
    perform: tellClick,
  },
  cancel: { moves: OPEN, held: 'fence', perform: byPerson(() => ({ kind: 'cancel' })) },
  edit: { moves: OPEN, held: 'fence', perform: byPerson(editing) },
  'fire now': { moves: OPEN, held: 'fence', perform: byPerson(() => ({ kind: 'fire_now' })) },
  'rule deleted': { moves: ['due', ...WAITING], held: 'skips', perform: deleteRule },
  revive: {
    ...{ moves: ['failed', 'cancelled'], held: 'fence' },
    perform: byPerson((state) => ({ kind: state === 'cancelled' ? 'uncancel' : 'revive' })),
  },
  'failed decision': { moves: CLAIMED, held: 'fence', perform: failToDecide },
  'release of what nobody took': {
    ...{ moves: CLAIMED, held: 'skips' },
    perform: async ({ db }) => ({ moves: await releaseUntaken(db, { olderThanSeconds: 0 }) }),
  },
  'look for facts': {
    ...{ moves: WAITING, held: 'skips' },
    perform: async (scene) => {
      await click(scene);
      return { moves: (await lookForFacts(scene.db, [scene.seen.id])).length };
    },
  },
  'crash evidence': { moves: OPEN, held: isOpen, perform: findDead },
  'date moved': {
    ...{ moves: ['due', 'claimed'], held: (row) => isOpen(row) && row.anchor_ref !== null },
    perform: moveDate,
  },
} as const satisfies Record<string, RaceOperation>;

export type OperationName = keyof typeof OPERATIONS;
