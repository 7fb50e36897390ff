import type { ActionOutcome } from './finish.ts';
import type { HeldAction } from './hold.ts';

/** What a due action meets when it is decided. */
export interface Circumstances {
  readonly rule: 'live' | 'disabled' | 'deleted' | 'none';
  /** undefined: the person does not exist any more. */
  readonly isFollowing: boolean | undefined;
  /** Whether what it was to re-evaluate still holds; true when nothing was. */
  readonly conditionsHold: boolean;
}

export type CancelReason =
  | 'rule_deleted'
  | 'rule_disabled'
  | 'user_unknown'
  | 'user_not_following'
  | 'conditions_no_longer_hold';

/** Why an action that came due must not run any more; undefined: it runs. The first reason counts. Pure. */
export function cancelReason({ rule, isFollowing, conditionsHold }: Circumstances): CancelReason | undefined {
  if (rule === 'deleted') return 'rule_deleted';
  if (rule === 'disabled') return 'rule_disabled';
  if (isFollowing === undefined) return 'user_unknown';
  if (!isFollowing) return 'user_not_following';
  if (!conditionsHold) return 'conditions_no_longer_hold';
  return undefined;
}

/** done, or cancelled with its reason. Pure. */
export function decideAction({ id, fence }: HeldAction, circumstances: Circumstances): ActionOutcome {
  const reason = cancelReason(circumstances);
  return reason === undefined ? { id, fence, to: 'done' } : { id, fence, to: 'cancelled', reason };
}
