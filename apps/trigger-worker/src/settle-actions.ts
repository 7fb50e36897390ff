import { openAttention } from '@dueline/attention';
import type { ActionRequest, TenantTicket } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { CreatedDelivery } from '@dueline/deliveries';
import { getLineUsers, type LineUser, lineUserKey } from '@dueline/recipients';
import {
  type ActionOutcome,
  type BranchedAction,
  type Claim,
  cancelReason,
  claimHeld,
  decideBranches,
  finishActionsWith,
  finishDueWith,
  type HeldAction,
  holdActions,
  holdDue,
  requestOnBranch,
} from '@dueline/scheduled-actions';
import {
  conditionsStillHold,
  getRuleStates,
  type LogEntry,
  needsFriend,
  type ReasonCode,
  type RuleState,
  readRecheck,
} from '@dueline/trigger-rules';
import { type FactsOfAction, loadActionFacts } from './action-facts.ts';
import { failedItem } from './action-history.ts';
import { reasonOfBranch } from './branch.ts';
import { givenUp, hinderedAtFirst, hinderedAtLast } from './hindrances.ts';
import type { Take } from './in-hand.ts';
import { type Finish, isOfItsRow, settleAlongside } from './settle-alongside.ts';
import { settleOthers } from './settle-others.ts';
import { type Targets, targetsOf } from './targets.ts';
import { withinCaps } from './within-caps.ts';
import { type Words, wordingFor } from './wording.ts';

export interface Settled {
  readonly entries: readonly Pick<LogEntry, 'decision' | 'scheduledActionId'>[];
  readonly deliveries: readonly CreatedDelivery[];
  /** How late each action was that is decided for good, in seconds. */
  readonly lateSeconds: readonly number[];
  /** Rows that are still claimed, because they must be decided alone. */
  readonly setAside: readonly TenantTicket[];
}

export interface Settling {
  /** Whether this is the one row that the process decides now; else rows that a process may have died of are set aside. */
  readonly alone: boolean;
  /** Says beside the transaction which rows are in hand; not given where a redelivered message will say it. */
  readonly take?: Take;
  readonly meet?: ((userId: string) => void) | undefined;
}

/** What the decision made of a row, and why. */
export interface Verdict {
  readonly action: HeldAction;
  /** What the action does on its branch, once that is decided; else what it was to do. */
  readonly request?: ActionRequest | undefined;
  /** What it says, where it is done. */
  readonly words?: Words;
  readonly outcome: ActionOutcome;
  readonly reasonCode: ReasonCode;
  readonly detail?: unknown;
}

/**
 * Decides claimed actions in the caller's transaction: holds the rows by their fences, re-checks rule, person and
 * conditions as they are now, finishes each row, and writes history and deliveries for those that really moved. A ticket
 * whose row was decided, taken back or changed in the meantime leaves no trace.
 */
export async function settleActions(tx: Tx, tickets: readonly TenantTicket[], settling: Settling): Promise<Settled> {
  const others = await takeRows(tickets, settling);
  const all = await holdActions(tx, tickets);
  const { held, setAside } = setApart(all, { ...settling, others });
  const finish: Finish = (outcomes, along) => finishActionsWith(tx, outcomes, along);
  return { ...(await settleHeld(tx, held, { ...settling, finish })), setAside };
}

/**
 * The same for what is due and not claimed yet: each row is locked, decided and written once, and nobody sees it claimed. What must be
 * decided alone is claimed for later.
 *
 * @returns With how many rows were due; undefined when none was.
 */
export async function settleDue(
  tx: Tx,
  claim: Claim,
  settling: Omit<Settling, 'alone'>,
): Promise<(Settled & { readonly due: number }) | undefined> {
  const due = await holdDue(tx, claim);
  if (due.length === 0) return undefined;
  const others = await takeRows(due, settling);
  const { held, setAside } = setApart(due, { alone: false, others });
  const finish: Finish = (outcomes, along) => finishDueWith(tx, outcomes, { by: claim, along });
  const settled = await settleHeld(tx, held, { ...settling, finish });
  return { ...settled, setAside: await claimHeld(tx, setAside, claim), due: due.length };
}

async function settleHeld(
  tx: Tx,
  held: readonly HeldAction[],
  { meet, finish }: Pick<Settling, 'meet'> & { readonly finish: Finish },
): Promise<Omit<Settled, 'setAside'>> {
  if (held.length === 0) return { entries: [], deliveries: [], lateSeconds: [] };
  const verdicts = await withinCaps(tx, await decideAll(tx, held, meet));
  const { alone = [], others = [] } = Object.groupBy(verdicts, (verdict) => (isOfItsRow(verdict) ? 'alone' : 'others'));
  const [first, second] = [await settleAlongside(alone, finish), await settleOthers(tx, others, finish)];
  const moved = [...first.moved, ...second.moved];
  const failed = moved.filter(({ outcome }) => outcome.to === 'failed');
  await openAttention(
    tx,
    failed.map(({ action, reasonCode }) => failedItem(action, reasonCode)),
  );
  const decided = moved.filter(({ outcome }) => outcome.to !== 'pending' && outcome.to !== 'deferred');
  return {
    entries: [...first.entries, ...second.entries],
    deliveries: [...first.deliveries, ...second.deliveries],
    lateSeconds: decided.map(({ action }) => action.lateSeconds),
  };
}

/** Which of the rows another process has in hand; true: that row alone. */
const takeRows = async (
  rows: readonly { readonly id: string }[],
  { take }: Pick<Settling, 'take'>,
): Promise<ReadonlyMap<string, boolean>> => (await take?.(rows.map(({ id }) => id))) ?? new Map<string, boolean>();

/** The rows to decide now, and those to decide alone later. A row that alone is in the hand of another process is left to it. */
function setApart(
  all: readonly HeldAction[],
  { alone, others }: { alone: boolean; others: ReadonlyMap<string, boolean> },
): { held: HeldAction[]; setAside: HeldAction[] } {
  if (alone) return { held: all.filter(({ id }) => others.get(id) !== true), setAside: [] };
  const isFree = (action: HeldAction) => !action.alone && !others.has(action.id);
  return { held: all.filter(isFree), setAside: all.filter((action) => !isFree(action)) };
}

async function decideAll(tx: Tx, held: readonly HeldAction[], meet: Settling['meet']): Promise<Verdict[]> {
  const hopeless = held.flatMap((action) => {
    const failure = givenUp(action); // before anything of it is looked at: that may be what kills
    return failure === undefined ? [] : [{ action, ...failure }];
  });
  const hopeful = held.filter((action) => givenUp(action) === undefined);
  if (hopeful.length === 0) return hopeless;
  const users = await getLineUsers(tx, hopeful);
  const rules = await getRuleStates(
    tx,
    hopeful.flatMap(({ triggerRuleId }) => triggerRuleId ?? []),
  );
  for (const { userId } of hopeful) meet?.(userId);
  const branched = await decideBranches(tx, hopeful);
  const requested = branched.map((action) => ({ ...action, request: requestOnBranch(action) }));
  const found = { rules, targets: await targetsOf(tx, requested), factsFor: await loadActionFacts(tx, hopeful) };
  return [...hopeless, ...branched.map((action) => decide(action, users.get(lineUserKey(action)), found))];
}

/** What decisions look at besides the row and its person. */
interface Found {
  readonly rules: ReadonlyMap<string, RuleState>;
  readonly targets: Targets;
  readonly factsFor: FactsOfAction;
}

function decide(action: BranchedAction, user: LineUser | undefined, { rules, targets, factsFor }: Found): Verdict {
  const { id, fence, branch } = action;
  const rule = action.triggerRuleId === null ? 'none' : (rules.get(action.triggerRuleId) ?? 'deleted');
  const atFirst = hinderedAtFirst(action, rule);
  if (atFirst !== undefined) return { action, ...atFirst };
  const request = requestOnBranch(action);
  const again =
    action.sourceConfig === null || user === undefined
      ? undefined
      : conditionsStillHold(readRecheck(action.sourceConfig), factsFor(action, user));
  const reason = cancelReason({
    rule: rule === 'held' ? 'disabled' : rule,
    isFollowing: user && (user.isFollowing || !needsFriend(request ?? action.request)),
    branchRuns: request !== undefined,
    conditionsHold: again?.holds ?? true,
  });
  if (reason !== undefined) {
    const detail = reason === 'conditions_no_longer_hold' ? { branch, leaves: again?.leaves } : { branch };
    return { action, request, outcome: { id, fence, branch, to: 'cancelled', reason }, reasonCode: reason, detail };
  }
  const atLast = hinderedAtLast(action, { request: request ?? action.request, targets });
  if (atLast !== undefined) return { action, request, ...atLast };
  const wording = wordingFor(request, user);
  if ('problem' in wording) {
    const outcome = { id, fence, to: 'failed', error: wording.problem } as const;
    return { action, request, outcome, reasonCode: 'content_invalid', detail: { branch, problem: wording.problem } };
  }
  const reasonCode = reasonOfBranch(action);
  return {
    action,
    request,
    words: wording,
    outcome: { id, fence, branch, to: 'done' },
    reasonCode,
    detail: { branch },
  };
}
