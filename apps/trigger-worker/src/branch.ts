import { EXPIRED_BRANCH } from '@dueline/contracts';
import type { BranchedAction } from '@dueline/scheduled-actions';
import type { ReasonCode } from '@dueline/trigger-rules';

/** Why an action runs on the branch that it took, as its history says. Pure. */
export function reasonOfBranch({ isWaiting, branch }: BranchedAction): ReasonCode {
  if (!isWaiting) return 'due';
  return branch === EXPIRED_BRANCH ? 'wait_expired' : 'fact_in_time';
}
