import type { ActionRequest, AttributeChangedConfig, Delay, Tenant } from '@dueline/contracts';
import { lockUsers, type Tx } from '@dueline/db';
import { findExisting, insertActions } from './insert-actions.ts';
import { lookForFacts } from './last-look.ts';

/** Work that shall wait. */
export interface ActionToSchedule extends Tenant {
  readonly userId: string;
  readonly request: ActionRequest;
  /** How long, or for what. */
  readonly delay: Delay;
  /** One of very many: behind those of lane 1, and never in lane 0. */
  readonly isBulk: boolean;
  /** What to re-evaluate when it comes due; null: nothing. */
  readonly sourceConfig: AttributeChangedConfig | null;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  /** What the row stands for, unique in the account for ever, e.g. `ev:<event>:<rule>`. */
  readonly dedupKey: string;
  /** At most one open row of this key in the account; null: any number. */
  readonly openKey: string | null;
  readonly traceparent: string | undefined;
}

/**
 * What became of an action to schedule. `made`: it waits; `isPast`: its date had passed, so it is due at once. `skipped`, `failed`:
 * its date had passed, and the row ended as it was made. `already_scheduled`: its dedup_key has a row. `already_pending`: its
 * open_key has an open row (null: that one ended meanwhile). `no_date`: there is nothing to count from, and no row.
 */
export type Scheduled =
  | { readonly result: 'made'; readonly id: string; readonly isPast: boolean }
  | { readonly result: 'skipped' | 'failed' | 'already_scheduled'; readonly id: string }
  | { readonly result: 'already_pending'; readonly id: string | null }
  | { readonly result: 'no_date' };

/** Most actions of a call that locks the people it makes waits for. */
const MAX_LOCKED = 500;

/**
 * none -> pending for each action, all rows in one statement; execute_at is computed by the database from its product time. Runs no
 * clock: any app may call it. A repeat changes nothing. Returns what became of each, in the order given.
 *
 * Up to 500 actions: people for whom something waits for a fact or hangs on a date are locked first (a caller that locks rows
 * before locks them itself, earlier), and facts that are older than their row are met in the same transaction. Beyond, neither
 * is done, and the caller calls {@link lookForFacts} after its commit.
 */
export async function scheduleMany(tx: Tx, actions: readonly ActionToSchedule[]): Promise<Scheduled[]> {
  if (actions.length === 0) return [];
  const sensitive = actions.filter(({ delay }) => delay.mode !== 'normal');
  const isLocking = actions.length <= MAX_LOCKED;
  if (isLocking) await lockUsers(tx, sensitive);
  const made = await insertActions(tx, actions);
  const results = actions.map((_, n) => made.get(n));
  if (isLocking && sensitive.some(({ delay }) => delay.mode === 'waitForTracking')) {
    await lookForFacts(
      tx,
      results.flatMap((result) => (result?.result === 'made' ? result.id : [])),
    );
  }
  if (!results.includes(undefined)) return results.filter((result) => result !== undefined);
  const existing = await findExisting(tx, actions);
  return results.map((result, n) => result ?? existing.get(n) ?? { result: 'already_pending', id: null });
}

/** The same for one action. */
export async function scheduleAction(tx: Tx, action: ActionToSchedule): Promise<Scheduled> {
  const [result] = await scheduleMany(tx, [action]);
  if (result === undefined) throw new Error('an action was scheduled without a result');
  return result;
}
