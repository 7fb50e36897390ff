import { type ActionRequest, DUE_BRANCH, EXPIRED_BRANCH } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { HeldAction } from './hold.ts';
import { lastLook } from './last-look.ts';

/** What a due action meets when it is decided. */
export interface Circumstances {
  readonly rule: 'live' | 'disabled' | 'deleted' | 'none';
  /** undefined: the person does not exist any more. */
  readonly isFollowing: boolean | undefined;
  /** Whether what it was to re-evaluate still holds; true when nothing was. */
  readonly conditionsHold: boolean;
  /** Whether the branch that the wait took leads to anything; true for what did not wait. */
  readonly branchRuns: boolean;
}

export type CancelReason =
  | 'rule_deleted'
  | 'rule_disabled'
  | 'user_unknown'
  | 'user_not_following'
  | 'wait_expired'
  | 'conditions_no_longer_hold';

/** Why an action that came due must not run any more; undefined: it runs. The first reason counts. Pure. */
export function cancelReason(circumstances: Circumstances): CancelReason | undefined {
  const { rule, isFollowing, branchRuns, conditionsHold } = circumstances;
  if (rule === 'deleted') return 'rule_deleted';
  if (rule === 'disabled') return 'rule_disabled';
  if (isFollowing === undefined) return 'user_unknown';
  if (!isFollowing) return 'user_not_following';
  if (!branchRuns) return 'wait_expired';
  if (!conditionsHold) return 'conditions_no_longer_hold';
  return undefined;
}

/** A claimed row that goes one way. */
export type BranchedAction = HeldAction & { readonly branch: string };

/**
 * Which way each held row goes: the branch that a fact has set, or, after a last look at the facts, that of the first fact in
 * time; `expired` when there was none; `due` for what waited for its time only. The caller writes it with the finish.
 */
export async function decideBranches(tx: Tx, held: readonly HeldAction[]): Promise<BranchedAction[]> {
  const undecided = held.filter(({ branch, isWaiting }) => branch === null && isWaiting);
  const met = await lastLook(
    tx,
    undecided.map(({ id }) => id),
  );
  const branchOf = ({ id, isWaiting }: HeldAction) => (isWaiting ? (met.get(id) ?? EXPIRED_BRANCH) : DUE_BRANCH);
  return held.map((action) => ({ ...action, branch: action.branch ?? branchOf(action) }));
}

/** What a row does on its branch: its action, or what {@link handleExpired} says; undefined: nothing. Pure. */
export function requestOnBranch(action: BranchedAction): ActionRequest | undefined {
  return action.branch === EXPIRED_BRANCH ? handleExpired(action) : action.request;
}

/** What a wait does that nothing ended in time: nothing (the default), its action, or something instead. Pure. */
export function handleExpired({ request, delaySpec }: HeldAction): ActionRequest | undefined {
  const policy = delaySpec?.mode === 'waitForTracking' ? delaySpec.onExpired : undefined;
  if (policy?.do === 'run') return request;
  if (policy?.do === 'instead') return { actionType: 'send_message', actionConfig: { messages: policy.messages } };
  return undefined;
}
