import { CEILINGS } from '@dueline/deliveries';
import { sleep } from '@dueline/kernel';
import type { InHand } from '../in-hand.ts';
import { MAX_WAIT_MS } from './bucket.ts';
import type { Buckets } from './buckets.ts';
import { type Bucket, nameOf } from './ceilings.ts';

/** What may be begun at once, and what must come again later. */
export interface Admission {
  /** So many of the first tickets have a permit and a slot. 0, and nothing put back: no more work is taken. */
  readonly slots: number;
  /** For so many of the last tickets, in order: the milliseconds in which each may come again. */
  readonly putBackMs: readonly number[];
}

export interface AdmissionOptions {
  readonly atMost: number;
  readonly signal: AbortSignal;
}

export type AdmissionEvent =
  | { readonly type: 'permits'; readonly endpoint: Bucket['endpoint']; readonly count: number; readonly waitMs: number }
  | { readonly type: 'put_back'; readonly endpoint: Bucket['endpoint']; readonly count: number };

/** Permits taken in one round trip, as milliseconds of the rate: a whole message of pushes. */
const BLOCK_MS = 75;
/** Permits for which no slot was free are good for so long; they are one block at most. */
const LEFT_OVER_MS = 500;
/** Of what is prefetched, the messages of one account that wait for its permits, at most: the others' must get in. */
const MAX_PLACES = 12;

/** Accounts that are remembered while nobody waits for them: what is left of their last block may still be good. */
const KEPT = 1_000;

/** Those who wait in this process for permits of one bucket. One at a time takes permits and slots, the others stand behind it. */
interface Line {
  tail: Promise<unknown>;
  places: number;
  /** Tickets of all who stand here. */
  wanted: number;
  /** Until when those who come are held up: permits that were taken a moment ago had to be waited for. */
  heldUpUntilMs: number;
  share: number;
  left: { count: number; untilMs: number };
}

/**
 * Admits tickets of one account to the sends in hand: each has a permit of its bucket, then a slot. Who waits for a permit holds no slot, and
 * what would wait longer than a second is put back.
 */
export function createAdmission({
  buckets,
  inHand,
  tell = () => undefined,
}: {
  buckets: Buckets;
  inHand: Pick<InHand, 'take' | 'tryTake'>;
  tell?: (event: AdmissionEvent) => void;
}): (bucket: Bucket, options: AdmissionOptions) => Promise<Admission> {
  const lines = new Map<string, Line>();
  return async (bucket, { atMost, signal }) => {
    const name = nameOf(bucket);
    const line = lines.get(name) ?? newLine();
    lines.set(name, line);
    const room = roomIn(line, bucket);
    if (room === 0) return { slots: 0, putBackMs: await placesOf({ buckets, bucket, count: atMost, tell }) };
    const wanted = Math.min(atMost, room);
    line.places += 1;
    line.wanted += wanted;
    const turnOf = { buckets, inHand, tell, line, bucket, askedMs: performance.now() };
    const turn = line.tail.then(() => takeTurn(turnOf, { atMost: wanted, signal }));
    line.tail = turn.catch(() => undefined);
    try {
      const slots = await turn;
      // Its permits were too far away for all that it wanted, or for what there was no room for.
      const rest = slots === 'too late' ? atMost : slots === 0 ? 0 : atMost - wanted;
      const putBackMs = rest === 0 ? [] : await placesOf({ buckets, bucket, count: rest, tell });
      return { slots: slots === 'too late' ? 0 : slots, putBackMs };
    } finally {
      line.places -= 1;
      line.wanted -= wanted;
      if (lines.size > KEPT) forgetIdle(lines);
    }
  };
}

function forgetIdle(lines: Map<string, Line>): void {
  for (const [name, { places }] of lines) if (places === 0) lines.delete(name);
}

const newLine = (): Line => ({
  ...{ tail: Promise.resolve(), places: 0, wanted: 0, heldUpUntilMs: 0, share: 1 },
  left: { count: 0, untilMs: 0 },
});

const isHeldUp = ({ heldUpUntilMs }: Line): boolean => performance.now() < heldUpUntilMs;

/**
 * For how many tickets more there is room in the line: as many as get a permit within a second; any number of pushes while nobody is held up. Chunks wait
 * for slots, too, in no greater number: a campaign would fill up what is prefetched, and those of other accounts stand behind it.
 */
function roomIn(line: Line, { endpoint }: Bucket): number {
  if (!isHeldUp(line) && endpoint === 'push') return Number.POSITIVE_INFINITY;
  if (line.places >= MAX_PLACES) return 0;
  return Math.max(0, Math.floor((CEILINGS[endpoint] * line.share * MAX_WAIT_MS) / 1_000) - line.wanted);
}

interface Turn {
  readonly buckets: Buckets;
  readonly inHand: Pick<InHand, 'take' | 'tryTake'>;
  readonly tell: (event: AdmissionEvent) => void;
  readonly line: Line;
  readonly bucket: Bucket;
  readonly askedMs: number;
}

/** Permits, a pause until they are good, then a slot, and as many more as are free at once. */
async function takeTurn(turn: Turn, { atMost, signal }: AdmissionOptions): Promise<number | 'too late'> {
  if (signal.aborted) return 0;
  const { line, inHand } = turn;
  // Many may have come at once, before anybody was held up.
  if (isHeldUp(line) && performance.now() - turn.askedMs > MAX_WAIT_MS) return 'too late';
  const permits = await takePermits(turn, signal);
  if (permits === 0) return 'too late';
  if (signal.aborted || !(await inHand.take(signal))) return 0;
  let slots = 1;
  while (slots < Math.min(atMost, permits) && inHand.tryTake()) slots += 1;
  line.left = { count: permits - slots, untilMs: performance.now() + LEFT_OVER_MS };
  return slots;
}

/** What is left of the last turn, or a block for all who stand in the line. */
async function takePermits({ buckets, tell, line, bucket }: Turn, signal: AbortSignal): Promise<number> {
  const { left } = line;
  if (left.count > 0 && performance.now() < left.untilMs) return left.count;
  const { endpoint } = bucket;
  const block = Math.max(1, Math.floor((CEILINGS[endpoint] * line.share * BLOCK_MS) / 1_000));
  const { granted, waitMs, share } = await buckets.take(bucket, Math.min(block, line.wanted));
  line.share = share;
  line.heldUpUntilMs = granted === 0 || waitMs > 0 ? performance.now() + waitMs + MAX_WAIT_MS : 0;
  if (granted === 0) return 0;
  tell({ type: 'permits', endpoint, count: granted, waitMs });
  if (waitMs > 0) await sleep(waitMs, signal);
  return granted;
}

async function placesOf({
  buckets,
  bucket,
  count,
  tell,
}: Pick<Turn, 'buckets' | 'bucket' | 'tell'> & { count: number }): Promise<number[]> {
  const firstMs = await buckets.putBack(bucket, count);
  tell({ type: 'put_back', endpoint: bucket.endpoint, count });
  return Array.from({ length: count }, (_, n) => Math.ceil(firstMs + (n * 1_000) / CEILINGS[bucket.endpoint]));
}
