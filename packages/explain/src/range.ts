import { sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { endOfCycles } from './cycles/instants.ts';
import { isTimed } from './cycles/timed-rule.ts';
import { historyBegins } from './reach.ts';
import type { Account } from './rule-then.ts';
import type { Sides } from './sides.ts';

/** What a dry run is over; instants are RFC 3339. */
export interface Range {
  readonly from: string;
  readonly to: string;
  /** Later than `from` when history does not reach back so far. */
  readonly playedFrom: string;
}

/** What is asked for. */
interface Wanted {
  readonly from: string;
  readonly to?: string | undefined;
  readonly cycles?: number | undefined;
}

/**
 * Reads a range. What happens ends now; what a calendar says does not.
 *
 * @throws PermanentError when it is none, or reaches where nothing is known.
 */
export async function readRange(
  tx: Tx,
  account: Account,
  { wanted, sides }: { wanted: Wanted; sides: Sides },
): Promise<Range> {
  const { draft, live } = sides;
  const seesAhead = isTimed(draft) && (live === undefined || isTimed(live));
  const asked = await askRange(tx, wanted);
  if (wanted.cycles !== undefined && wanted.to !== undefined)
    throw new PermanentError('a range ends at an instant or after so many cycles, not both');
  if (wanted.cycles !== undefined && !isTimed(draft))
    throw new PermanentError('the draft has no cycles to count: events set it off');
  if (!seesAhead && wanted.cycles === undefined && asked.startsAhead) throw new PermanentError(notAhead(sides));
  const to =
    wanted.cycles !== undefined && isTimed(draft)
      ? endOfCycles(draft, account, { from: asked.playedFrom, cycles: wanted.cycles })
      : asked.to;
  if (Temporal.Instant.compare(to, asked.now) > 0 && isTimed(draft) && !seesAhead)
    throw new PermanentError(notAhead(sides));
  const { from, playedFrom } = asked;
  const until = seesAhead || Temporal.Instant.compare(to, asked.now) < 0 ? to : asked.now;
  if (Temporal.Instant.compare(until, playedFrom) > 0) return { from, to: until, playedFrom };
  throw new PermanentError(
    asked.begins === null || Temporal.Instant.compare(until, from) <= 0
      ? `there is nothing between ${from} and ${until}`
      : `there is no history between ${from} and ${until}: it begins at ${asked.begins}`,
  );
}

const notAhead = ({ live }: Sides): string =>
  `what will happen is not known: ahead of now ${live === undefined ? 'only a rule that is set off by time can be tried' : 'only rules that are set off by time can be compared'}`;

async function askRange(tx: Tx, { from, to }: Wanted) {
  const begins = await historyBegins(tx);
  const format = (instant: ReturnType<typeof sql>) =>
    sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  const { rows } = await tx.execute<{ from: string; to: string; now: string; played: string; ahead: boolean }>(sql`
    select ${format(sql`asked.begin`)} as from, ${format(sql`asked.until`)} as to, ${format(sql`app_now()`)} as now,
           ${format(sql`greatest(asked.begin, ${begins}::timestamptz)`)} as played, asked.begin > app_now() as ahead
      from (select ${from}::timestamptz as begin, coalesce(${to ?? null}::timestamptz, app_now()) as until) as asked`);
  const [row] = rows;
  if (row === undefined) throw new Error('a query without a table returned no row');
  return { from: row.from, to: row.to, now: row.now, playedFrom: row.played, startsAhead: row.ahead, begins };
}
