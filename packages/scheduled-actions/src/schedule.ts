import type { ActionRequest, Delay, Tenant } from '@dueline/contracts';
import { type Alongside, type Db, inTransaction, lockUsers, type Tx } from '@dueline/db';
import { findExisting, insertActions } from './insert-actions.ts';
import { lookForFacts } from './last-look.ts';

/** Work that shall wait. */
export interface ActionToSchedule extends Tenant {
  readonly userId: string;
  readonly request: ActionRequest;
  /** How long, or for what. */
  readonly delay: Delay;
  /** What a delay by seconds or by the calendar is counted from, RFC 3339; left out: now. Of a cycle: its nominal instant. */
  readonly from?: string;
  /** One of very many: behind those of lane 1, and never in lane 0. */
  readonly isBulk: boolean;
  /** What to re-evaluate when it comes due; null: nothing. */
  readonly sourceConfig: object | null;
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
 *
 * @param alongside Written in the same statement for each row that is made (`made`, `skipped`, `failed`), and for no other: reads
 * `made (id, organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config,
 * delay_spec, status, due_at, created_at, dedup_key)`.
 */
export async function scheduleMany(
  tx: Tx,
  actions: readonly ActionToSchedule[],
  alongside?: Alongside,
): Promise<Scheduled[]> {
  if (actions.length === 0) return [];
  const sensitive = actions.filter(isSensitive);
  const isLocking = actions.length <= MAX_LOCKED;
  if (isLocking) await lockUsers(tx, sensitive);
  const results = await make(tx, actions, alongside);
  if (isLocking && sensitive.some(({ delay }) => delay.mode === 'waitForTracking')) {
    await lookForFacts(
      tx,
      results.flatMap((result) => (result?.result === 'made' ? result.id : [])),
    );
  }
  return withExisting(tx, actions, results);
}

/**
 * The same for one action: in the caller's transaction, or on the pool in one of its own, which is one statement where nothing but a hand
 * can move its time.
 *
 * @throws TransientError on the pool when the database was not ready.
 */
export async function scheduleAction(on: Db | Tx, action: ActionToSchedule, alongside?: Alongside): Promise<Scheduled> {
  const [result] = await scheduleOne(on, action, alongside);
  if (result === undefined) throw new Error('an action was scheduled without a result');
  return result;
}

async function scheduleOne(
  on: Db | Tx,
  action: ActionToSchedule,
  alongside: Alongside | undefined,
): Promise<Scheduled[]> {
  const actions = [action];
  if (!('$client' in on)) return scheduleMany(on, actions, alongside);
  if (isSensitive(action)) return inTransaction(on, (tx) => scheduleMany(tx, actions, alongside));
  return withExisting(on, actions, await make(on, actions, alongside));
}

/** Facts may end its wait or move its date: the person is locked first, and facts are looked for. */
const isSensitive = ({ delay }: ActionToSchedule): boolean => delay.mode !== 'normal';

type Made = readonly (Scheduled | undefined)[];

async function make(
  on: Db | Tx,
  actions: readonly ActionToSchedule[],
  alongside: Alongside | undefined,
): Promise<Made> {
  const made = await insertActions(on, actions, alongside);
  return actions.map((_, n) => made.get(n));
}

async function withExisting(on: Db | Tx, actions: readonly ActionToSchedule[], results: Made): Promise<Scheduled[]> {
  if (!results.includes(undefined)) return results.filter((result) => result !== undefined);
  const existing = await findExisting(on, actions);
  return results.map((result, n) => result ?? existing.get(n) ?? { result: 'already_pending', id: null });
}
