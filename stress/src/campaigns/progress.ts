import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';

/** Resolves when so much of all requests, 0 to 1, has come to its end; when nothing is left to do before time passes; or when the signal aborts. */
export type UntilShare = (share: number, signal: AbortSignal) => Promise<void>;

interface Progress {
  readonly share: number;
  /** Campaigns that are not frozen, and requests that are due or on their way. */
  readonly busy: number;
}

const POLL_MS = 100;
/** What is between two of these is seen as busy before. */
const IDLE_MS = 4_000;
/** Several leases. */
const PATIENCE_MS = 60_000;

/** @param requests How many there will be; parts of what is split are not counted, so that the sum is known before. */
export function createProgress(db: Db, requests: number): UntilShare {
  const read = sharing(async (): Promise<Progress> => {
    const { rows } = await db.$client.query<{ ended: number; busy: number }>(
      `select count(*) filter (where split_path = '' and status not in ('planned', 'sending'))::int as ended,
              (count(*) filter (where status = 'sending' or (status = 'planned' and next_attempt_at <= app_now()))
               + (select count(*) from campaign where status in ('draft', 'scheduled', 'sending') and frozen_at is null))::int as busy
         from delivery where kind = 'campaign'`,
    );
    const { ended = 0, busy = 0 } = rows[0] ?? {};
    return { share: ended / requests, busy };
  });
  return async (wanted, signal) => {
    let last = -1;
    let busyAt = performance.now();
    for (let movedAt = busyAt; performance.now() - movedAt < PATIENCE_MS; await sleep(POLL_MS, signal)) {
      // While the database is away nothing moves, and somebody is busy.
      const { share, busy } = await read().catch(() => ({ share: last, busy: 1 }));
      if (signal.aborted || share >= wanted || performance.now() - busyAt > IDLE_MS) return;
      if (busy > 0) busyAt = performance.now();
      if (share > last) movedAt = performance.now();
      last = share;
    }
  };
}

/** The same for all who ask within a moment. */
function sharing<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<Answer> | undefined;
  return () => {
    if (answer === undefined || performance.now() - askedAt > POLL_MS) {
      askedAt = performance.now();
      answer = ask();
    }
    return answer;
  };
}
