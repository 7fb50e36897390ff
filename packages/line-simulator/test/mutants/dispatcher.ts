import { createHash, randomUUID } from 'node:crypto';
import type { AttemptOutcome, ExportRecord, RecipientState } from '../../src/index.ts';

/** One mistake each; the test beside this file says which is which. */
export type Mistake = `M${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13}`;

export interface Campaign {
  readonly apiUrl: string;
  readonly token: string;
  readonly channelId: string;
  readonly clock: { now(): number; advance(ms: number): void };
  /** Who is in the audience now. */
  audience(): string[];
  /** Attempts, from 1, after which the process dies before it can write the outcome. */
  readonly diesAfter: readonly number[];
  readonly mistake?: Mistake | undefined;
}

interface Chunk {
  readonly ordinal: number;
  readonly path: string;
  members: readonly string[];
  epoch: number;
  key: string | null;
  firstAttemptAt: number | undefined;
  ambiguous: boolean;
}

const HOUR_MS = 3_600_000;
const CHUNK_SIZE = 3;
const LID = 'c:42:1';

/** Sends one campaign by multicast as the rules are, or with one mistake; returns what a client would export. */
export async function dispatch(campaign: Campaign): Promise<ExportRecord[]> {
  const { clock, channelId, audience } = campaign;
  const makes = (mistake: Mistake) => campaign.mistake === mistake;
  const send = { channelId, lid: LID };
  const instant = () => new Date(clock.now()).toISOString();
  const records: ExportRecord[] = [];
  let attempts = 0;

  const frozen = makes('M9') || makes('M7') ? audience() : [...new Set(audience())].sort();
  for (const user of frozen) records.push({ kind: 'planned', ...send, user });

  const newChunk = (part: Pick<Chunk, 'ordinal' | 'path' | 'members'>): Chunk => ({
    ...part,
    epoch: 1,
    key: null,
    firstAttemptAt: undefined,
    ambiguous: false,
  });
  const queue = Array.from({ length: Math.ceil(frozen.length / CHUNK_SIZE) }, (_, ordinal) =>
    newChunk({ ordinal, path: '', members: frozen.slice(ordinal * CHUNK_SIZE, (ordinal + 1) * CHUNK_SIZE) }),
  );

  const keyOf = (chunk: Chunk): { key: string | null; keyName?: string } => {
    if (makes('M1')) return { key: randomUUID() };
    if (makes('M2')) return { key: null };
    if (makes('M6')) return { key: uuidOf(`${chunk.ordinal}/${audience().join()}`) };
    const keyName = `lrk1/${channelId}/campaign/42/${chunk.epoch}/multicast/${chunk.ordinal}/${chunk.path}`;
    return { key: uuidOf(keyName), keyName };
  };

  const finish = (chunk: Chunk, state: RecipientState) => {
    // A query that is read by offset knows of no members; whoever was planned counts as done.
    const members = makes('M7')
      ? frozen.slice(chunk.ordinal * CHUNK_SIZE, (chunk.ordinal + 1) * CHUNK_SIZE)
      : chunk.members;
    for (const user of members) {
      records.push({
        kind: 'state',
        ...send,
        user,
        state,
        at: instant(),
        ...(chunk.key !== null && { retryKey: chunk.key }),
      });
    }
  };

  const attempt = async (chunk: Chunk): Promise<AttemptOutcome | null> => {
    const { key, keyName } = keyOf(chunk);
    const startedAt = instant();
    chunk.key = key;
    chunk.firstAttemptAt ??= clock.now();
    attempts += 1;
    const answer = await post(campaign, { key, members: chunk.members });
    const died = campaign.diesAfter.includes(attempts);
    const outcome = died ? null : answer.outcome;
    records.push({
      kind: 'attempt',
      ...send,
      retryKey: key,
      ...(keyName !== undefined && { keyName }),
      requestId: died ? null : answer.requestId,
      acceptedRequestId: died ? null : answer.acceptedRequestId,
      startedAt,
      finishedAt: died ? null : instant(),
      outcome,
    });
    return outcome;
  };

  const split = ({ ordinal, path, members }: Chunk) => {
    const half = Math.ceil(members.length / 2);
    return [members.slice(0, half), members.slice(half)].map((part, side) =>
      newChunk({ ordinal, path: `${path}${side}`, members: part }),
    );
  };

  /** Asks under the same key until the fate of the chunk is known, or may no longer be asked for. */
  const settle = async (chunk: Chunk): Promise<void> => {
    if (makes('M7')) chunk.members = audience().slice(chunk.ordinal * CHUNK_SIZE, (chunk.ordinal + 1) * CHUNK_SIZE);
    for (let waitMs = 2_000; ; waitMs = Math.min(waitMs * 2, HOUR_MS / 2)) {
      const isOver = chunk.firstAttemptAt !== undefined && clock.now() >= chunk.firstAttemptAt + 23 * HOUR_MS;
      if (isOver && !makes('M3')) return finish(chunk, chunk.ambiguous ? 'unknown' : 'expired');
      const outcome = await attempt(chunk);
      if (makes('M5')) return finish(chunk, 'accepted');
      if (outcome === 'ALREADY' && makes('M8')) chunk.epoch += 1;
      else if (outcome === 'ACCEPTED' || outcome === 'ALREADY') return finish(chunk, 'accepted');
      else if (outcome === 'THROTTLED' && makes('M13')) return finish(chunk, 'accepted');
      else if (outcome === 'REFUSED' && (!chunk.ambiguous || makes('M11'))) {
        if (chunk.members.length === 1) return finish(chunk, 'invalid');
        queue.unshift(...split(chunk));
        return;
      } else if (outcome === null) {
        // The reaper finds the chunk after its lease.
        chunk.ambiguous = true;
        if (makes('M10')) chunk.epoch += 1;
        clock.advance(300_000);
      } else if (outcome === 'AMBIGUOUS') chunk.ambiguous = true;
      clock.advance(waitMs);
    }
  };

  for (let chunk = queue.shift(); chunk !== undefined; chunk = queue.shift()) await settle(chunk);
  return records;
}

interface Answered {
  readonly outcome: AttemptOutcome;
  readonly requestId: string | null;
  readonly acceptedRequestId: string | null;
}

async function post(
  { apiUrl, token, mistake }: Campaign,
  { key, members }: { key: string | null; members: readonly string[] },
): Promise<Answered> {
  try {
    const response = await fetch(`${apiUrl}/v2/bot/message/multicast`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(key !== null && { 'x-line-retry-key': key }),
      },
      body: JSON.stringify({ to: members, messages: [{ type: 'text', text: `Hello [[lid:${LID}]]` }] }),
      redirect: mistake === 'M12' ? 'follow' : 'manual',
    });
    await response.json();
    const requestId = response.headers.get('x-line-request-id');
    const acceptedRequestId = response.headers.get('x-line-accepted-request-id');
    return { outcome: outcomeOf(response.status, acceptedRequestId, mistake), requestId, acceptedRequestId };
  } catch {
    return { outcome: 'AMBIGUOUS', requestId: null, acceptedRequestId: null };
  }
}

function outcomeOf(status: number, acceptedRequestId: string | null, mistake: Mistake | undefined): AttemptOutcome {
  if (status >= 200 && status < 300) return 'ACCEPTED';
  if (status === 409 && acceptedRequestId !== null) return 'ALREADY';
  if (status === 429) return 'THROTTLED';
  if (status === 401) return 'AUTH';
  if ([400, 403, 404, 410, 413, 415].includes(status)) return 'REFUSED';
  return status >= 500 && mistake === 'M4' ? 'REFUSED' : 'AMBIGUOUS';
}

/** UUIDv8 of the name's SHA-256. */
function uuidOf(name: string): string {
  const bytes = createHash('sha256').update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
