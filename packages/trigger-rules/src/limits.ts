import type { Tx } from '@dueline/db';
import { type Firing, passGate } from './gate.ts';
import { holdRoom, type Room } from './room.ts';

/** A rule that is about to fire for a user, and whether it sends a message at once. */
export interface Attempt extends Firing {
  readonly sends: boolean;
}

/** Why an attempt may not fire. */
export type Limit = 'frequency' | 'entered_before' | 'frequency_cap';

/**
 * Which of these attempts may fire, in order: undefined, or what limits it. Whoever may fire has spent its slot of the rule
 * and its place under the caps of the account; whoever may not has spent neither. A rule that observes takes no place.
 */
export async function applyLimits(tx: Tx, given: readonly Attempt[]): Promise<(Limit | undefined)[]> {
  const attempts = given.map((attempt) => ({ ...attempt })); // the same one twice is two
  const capped = attempts.filter(needsRoom).map(personOf);
  const room = await holdRoom(tx, capped);
  const limits = new Map<Attempt, Limit>();
  for (let open = attempts; open.length > 0; ) {
    const turn = open.filter((attempt) => hasRoom(attempt, room));
    const passes = await passGate(tx, turn);
    const freed = turn.filter((attempt, at) => {
      if (passes[at]) return false;
      limits.set(attempt, attempt.rule.reentry === 'never' ? 'entered_before' : 'frequency');
      if (takesRoom(attempt)) room.giveBack(personOf(attempt));
      return takesRoom(attempt);
    });
    const inTurn = new Set(turn);
    open = open.filter((attempt) => !inTurn.has(attempt));
    if (freed.length > 0) continue; // somebody who had to stand back may have their place
    for (const attempt of open) limits.set(attempt, 'frequency_cap');
    break;
  }
  await room.spend(tx);
  return attempts.map((attempt) => limits.get(attempt));
}

const needsRoom = ({ rule, sends }: Attempt): boolean => sends && rule.isCapped;
const takesRoom = (attempt: Attempt): boolean => needsRoom(attempt) && attempt.rule.mode === 'live';
const personOf = ({ rule, userId }: Attempt) => ({
  organizationId: rule.organizationId,
  lineOaId: rule.lineOaId,
  userId,
});

function hasRoom(attempt: Attempt, room: Room): boolean {
  if (!needsRoom(attempt)) return true;
  const person = personOf(attempt);
  if (!room.take(person)) return false;
  if (!takesRoom(attempt)) room.giveBack(person);
  return true;
}
