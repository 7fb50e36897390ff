import type { Db } from '@dueline/db';
import type { ReceiptRow } from '@dueline/line-simulator';
import { userOf } from './accounts.ts';
import type { Planned } from './history.ts';
import type { Told } from './people.ts';
import type { PlannedAction } from './plan.ts';
import { markOf } from './write-actions.ts';

/** How a row ended, and the clicks that may have had to do with it. */
export interface EndedRow {
  readonly n: number;
  readonly status: string;
  readonly cancelReason: string | null;
  readonly branch: string | null;
  /** When it was due in the end, in milliseconds since the epoch. */
  readonly dueMs: number;
  /** Clicks by a person within the wait. */
  readonly clicks: number;
  /** Of those, the ones that were written when the decision may have looked already. */
  readonly lateClicks: number;
  readonly deliveries: readonly string[];
}

/** Every action with how it ended. */
export async function readEndings(db: Db): Promise<EndedRow[]> {
  const { rows } = await db.$client.query<EndedRow>(`
    select split_part(dedup_key, ':', 2)::int as n, status, cancel_reason as "cancelReason", branch,
           (extract(epoch from execute_at) * 1000)::float as "dueMs", click.count as clicks, click.late as "lateClicks",
           array(select delivery.status from delivery where kind = 'action' and logical_id = action.id::text) as deliveries
      from scheduled_action as action
     cross join lateral (
       select count(*)::int, (count(*) filter (where recorded_at > executed_at - interval '100 milliseconds'))::int as late
         from link_click as fact
        where fact.line_oa_id = action.line_oa_id and fact.user_id = action.user_id and not is_robot
          and occurred_at >= anchor_at and occurred_at < expires_at) as click
     order by n`);
  return rows;
}

/** How an action had to end. */
interface Ending {
  readonly status: 'done' | 'cancelled';
  readonly reason?: string;
  readonly branch?: string;
  /** What its person receives, once. */
  readonly receives?: string;
}

/** How this action had to end, after all that happened to it. Pure. */
function endingOf(action: PlannedAction, row: EndedRow, told: Told = { version: 0, isCancelled: false }): Ending {
  if (told.isCancelled)
    return row.status === 'done' ? { status: 'done' } : { status: 'cancelled', reason: 'by_person' };
  const content = markOf(action.n, told.version);
  if (action.kind === 'plain') return { status: 'done', branch: 'due', receives: content };
  if (action.kind === 'checked')
    return action.holds
      ? { status: 'done', branch: 'due', receives: content }
      : { status: 'cancelled', reason: 'conditions_no_longer_hold' };
  const isClicked = row.clicks > row.lateClicks || (row.clicks > 0 && row.branch === 'clicked');
  if (isClicked) return { status: 'done', branch: 'clicked', receives: content };
  if (action.onExpired === 'skip') return { status: 'cancelled', reason: 'wait_expired', branch: 'expired' };
  return { status: 'done', branch: 'expired', receives: action.onExpired === 'run' ? content : markOf(action.n, 'x') };
}

/** What is wrong with how a row ended; undefined: nothing. Pure. */
function wrongWith(row: EndedRow, ending: Ending): string | undefined {
  const { status, reason = null, branch, receives } = ending;
  const had = `${row.status}, ${row.cancelReason ?? 'no reason'}, branch ${row.branch ?? 'none'}, messages ${row.deliveries.join(' ') || 'none'}`;
  const deliveries = receives === undefined ? (status === 'done' ? 'cancelled' : '') : 'accepted';
  const isRight =
    row.status === status &&
    row.cancelReason === reason &&
    (branch === undefined || row.branch === branch) &&
    row.deliveries.join(' ') === deliveries;
  return isRight ? undefined : `action ${row.n} is ${had}; it had to be ${JSON.stringify(ending)}`;
}

export interface Endings {
  readonly planned: readonly Planned[];
  /** Rows that ended otherwise than they had to. */
  readonly wrong: readonly string[];
  /** Messages that came before their time. */
  readonly early: readonly string[];
  /** Actions whose message was to be received, that a person or a condition cancelled, and whose wait was over. */
  readonly counts: { readonly received: number; readonly cancelled: number; readonly expired: number };
}

/** LINE's clock shows whole milliseconds. */
const CLOCK_MS = 1;

/** Compares every action with how it had to end. Pure. */
export function judgeEndings(
  actions: readonly PlannedAction[],
  found: { rows: readonly EndedRow[]; told: ReadonlyMap<number, Told>; receipts: readonly ReceiptRow[] },
): Endings {
  const rows = new Map(found.rows.map((row) => [row.n, row]));
  const dueOf = new Map<string, number>();
  const planned: Planned[] = [];
  const wrong: string[] = [];
  const counts = { received: 0, cancelled: 0, expired: 0 };
  for (const action of actions) {
    const row = rows.get(action.n);
    if (row === undefined) {
      wrong.push(`action ${action.n} has no row`);
      continue;
    }
    const ending = endingOf(action, row, found.told.get(action.n));
    const problem = wrongWith(row, ending);
    if (problem !== undefined) wrong.push(problem);
    if (ending.branch === 'expired') counts.expired += 1;
    counts[ending.receives === undefined ? 'cancelled' : 'received'] += 1;
    if (ending.receives === undefined) continue;
    planned.push({ user: userOf(action), lid: ending.receives });
    dueOf.set(ending.receives, row.dueMs);
  }
  const early = found.receipts.filter(({ lid, at }) => Date.parse(at) < (dueOf.get(lid ?? '') ?? 0) - CLOCK_MS);
  return { planned, wrong, counts, early: early.map(({ lid, user, at }) => `${lid} of ${user} came at ${at}`) };
}
