import type { Tx } from '@dueline/db';
import { streamArchive } from '@dueline/db/changes';
import type { Account } from './rule-then.ts';
import type { Run } from './run.ts';
import type { Sample } from './tally.ts';

/** Events of one batch: what memory holds is proportional to it, and to the days of the range. Ours. */
const BATCH = 2_000;

/**
 * Plays the decided events of an account to rules, person by person, the last id first; gives for each person when each rule first fired for them,
 * by position; undefined: it did not.
 */
export async function* playEvents(
  tx: Tx,
  account: Account,
  { runs, range }: { runs: readonly Run[]; range: { readonly playedFrom: string; readonly to: string } },
): AsyncGenerator<readonly (Sample | undefined)[]> {
  const kinds = runs.map(({ listensTo }) => listensTo);
  let person: string | undefined;
  const stream = streamArchive(tx, account, { kinds, from: range.playedFrom, to: range.to, size: BATCH });
  for await (const batch of stream) {
    for (const run of runs) await run.load(tx, batch, range);
    for (const archived of batch) {
      if (person !== undefined && person !== archived.event.userId) yield runs.map((run) => run.endPerson());
      person = archived.event.userId;
      for (const run of runs) run.meet(archived);
    }
  }
  yield runs.map((run) => run.endPerson());
}
