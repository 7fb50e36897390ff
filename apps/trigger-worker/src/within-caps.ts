import type { Tx } from '@dueline/db';
import { holdRoom } from '@dueline/trigger-rules';
import type { Verdict } from './settle-actions.ts';

/**
 * What becomes of verdicts under the caps of their accounts: a message for which there is no place is cancelled. What is sent takes its
 * place in the transaction that decides.
 */
export async function withinCaps(tx: Tx, verdicts: readonly Verdict[]): Promise<readonly Verdict[]> {
  const capped = verdicts.filter(needsRoom);
  if (capped.length === 0) return verdicts;
  const room = await holdRoom(
    tx,
    capped.map(({ action }) => action),
  );
  const within = verdicts.map((verdict) => {
    if (!needsRoom(verdict)) return verdict;
    const { lineOaId, userId, meantFor } = verdict.action;
    if (room.take({ lineOaId, userId, meantFor: meantFor ?? [] })) return verdict;
    const { action, outcome } = verdict;
    const branch = 'branch' in outcome ? (outcome.branch ?? null) : null;
    const cancelled = { id: action.id, fence: action.fence, branch, to: 'cancelled', reason: 'frequency_cap' } as const;
    return { ...verdict, outcome: cancelled, reasonCode: 'frequency_cap' as const };
  });
  await room.spend(tx);
  return within;
}

const needsRoom = ({ action, request, outcome }: Verdict): boolean =>
  action.meantFor !== null && outcome.to === 'done' && request?.actionType === 'send_message';
