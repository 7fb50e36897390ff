import { type Db, sql, type Tx } from '@dueline/db';
import { createPace } from './pace.ts';

/** Rows in processing, by account. */
export type Processing = Map<string, number>;

export interface Cap {
  readonly limit: number;
  readonly maxProcessing: number;
}

/** What a claimer counted, kept as long as counting is slow; whoever claims adds to it. */
export interface KeptProcessing {
  /** undefined: it is to be counted anew. */
  keptProcessing(cap: Cap): Processing | undefined;
  countedProcessing(counts: Processing): void;
}

/** Counting reads the dead rows that an old snapshot holds: it may take this part of a claimer's time, */
const SHARE = 1 / 10;
/** and this part when what was counted leaves no room for a claim. */
const FULL_SHARE = 1 / 2;
/** Then room is made by consumers, row by row: who looks less often finds room for a claim that is worth its cost. */
const FULL_PAUSE_MS = 100;

export function createKeptProcessing(clock: () => number): KeptProcessing {
  const pace = createPace(clock);
  let kept: Processing | undefined;
  return {
    keptProcessing: ({ limit, maxProcessing }) => {
      const counts = [...(kept?.values() ?? [])];
      const sum = counts.reduce((left, right) => left + right, 0);
      const hasRoom = sum + limit <= maxProcessing && Math.max(0, ...counts) + limit <= maxProcessing / 2;
      const isDue = pace.isDue(hasRoom ? { pauseMs: 0, share: SHARE } : { pauseMs: FULL_PAUSE_MS, share: FULL_SHARE });
      if (isDue) kept = undefined;
      if (kept === undefined) pace.begin();
      return kept;
    },
    countedProcessing: (counts) => {
      pace.end();
      kept = counts;
    },
  };
}

/** Rows in processing by this profile; none where there is no cap. */
export async function countProcessing(
  db: Db | Tx,
  { via, list, ...cap }: Cap & { readonly via: string; readonly list: KeptProcessing },
): Promise<Processing> {
  if (cap.maxProcessing >= Number.MAX_SAFE_INTEGER) return new Map();
  const kept = list.keptProcessing(cap);
  if (kept !== undefined) return kept;
  const { rows } = await db.execute<{ line_oa_id: string; rows: number }>(sql`
    select line_oa_id, count(*)::int as rows from scheduled_action
     where status = 'processing' and claimed_via = ${via}
     group by line_oa_id`);
  const counts = new Map(rows.map((row) => [row.line_oa_id, row.rows]));
  list.countedProcessing(counts);
  return counts;
}
