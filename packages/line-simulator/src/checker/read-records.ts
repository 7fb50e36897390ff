import { hash } from 'node:crypto';
import { type AttemptOutcome, type ExportRecord, OUTCOMES, type RecordOf, STATES } from './export-format.ts';
import { type History, pushZeros } from './history.ts';

/** Takes one line of the export, after the ledger was read. */
export function addRecord(history: History, record: ExportRecord): void {
  switch (record.kind) {
    case 'planned':
      addPlanned(history, record);
      break;
    case 'state':
      addState(history, record);
      break;
    case 'attempt':
      addAttempt(history, record);
      break;
    case 'stop':
      addStop(history, record);
      break;
    case 'consumption':
      history.consumptions.push(record);
      break;
    case 'total':
      history.totals.push({ lid: history.lids.intern(record.channelId, record.lid), accepted: record.accepted });
      break;
  }
}

function pairOf({ lids, users, pairs }: History, { channelId, lid, user }: RecordOf<'planned' | 'state'>): number {
  return pairs.intern(lids.intern(channelId, lid), users.intern(user));
}

function addPlanned(history: History, record: RecordOf<'planned'>): void {
  const index = pairOf(history, record) - 1;
  history.pairs.planned.set(index, 1);
  if (record.dueAt !== undefined) history.pairs.dueAt.set(index, Date.parse(record.dueAt));
}

function addState(history: History, record: RecordOf<'state'>): void {
  const { pairs, keys } = history;
  const index = pairOf(history, record) - 1;
  pairs.state.set(index, STATES.indexOf(record.state) + 1);
  if (record.at !== undefined) pairs.stateAt.set(index, Date.parse(record.at));
  if (record.retryKey !== undefined) pairs.key.set(index, keys.intern(record.retryKey));
}

function addAttempt(history: History, record: RecordOf<'attempt'>): void {
  const { attempts, lids, keys, requests, mismatches } = history;
  pushZeros(attempts);
  const attempt = attempts.lid.length;
  const lid = lids.intern(record.channelId, record.lid);
  const key = keys.intern(record.retryKey);
  const startedAt = Date.parse(record.startedAt);
  const request = record.requestId === null ? 0 : requests.ids.find(record.requestId);
  attempts.lid.set(attempt - 1, lid);
  attempts.key.set(attempt - 1, key);
  attempts.request.set(attempt - 1, request);
  attempts.startedAt.set(attempt - 1, startedAt);
  if (record.finishedAt !== null) attempts.finishedAt.set(attempt - 1, Date.parse(record.finishedAt));
  attempts.outcome.set(attempt - 1, record.outcome === null ? 0 : OUTCOMES.indexOf(record.outcome) + 1);

  if (record.requestId !== null && (request === 0 || requests.key.get(request - 1) !== key)) {
    mismatches.push({ attempt, claim: 'requestId', value: record.requestId });
  }
  const accepted = record.acceptedRequestId === null ? 0 : requests.ids.find(record.acceptedRequestId);
  const isAccept = requests.accept.get(accepted - 1) !== 0 && requests.key.get(accepted - 1) === key;
  if (record.acceptedRequestId !== null && (accepted === 0 || !isAccept)) {
    mismatches.push({ attempt, claim: 'acceptedRequestId', value: record.acceptedRequestId });
  }
  if (record.keyName !== undefined && keyOfName(record.keyName) !== record.retryKey?.toLowerCase()) {
    mismatches.push({ attempt, claim: 'keyName', value: record.keyName });
  }
  const tookMs = record.finishedAt === null ? 0 : Date.parse(record.finishedAt) - startedAt;
  if (key !== 0) noteKey(history, { key, lid, startedAt, tookMs, outcome: record.outcome });
}

interface NotedAttempt {
  readonly key: number;
  readonly lid: number;
  readonly startedAt: number;
  readonly tookMs: number;
  readonly outcome: AttemptOutcome | null;
}

function noteKey({ keys }: History, { key, lid, startedAt, tookMs, outcome }: NotedAttempt): void {
  const index = key - 1;
  const first = keys.firstAttemptAt.get(index);
  if (first === 0 || startedAt < first) keys.firstAttemptAt.set(index, startedAt);
  keys.lid.set(index, lid);
  if (outcome !== 'NOT_REACHED') keys.attempts.set(index, keys.attempts.get(index) + 1);
  if (outcome === null) keys.open.set(index, 1);
  if (outcome !== 'AMBIGUOUS') return;
  keys.ambiguous.set(index, 1);
  keys.ambiguousMs.set(index, Math.max(keys.ambiguousMs.get(index), tookMs));
}

function addStop({ stops, lids, channels }: History, record: RecordOf<'stop'>): void {
  stops.push({
    verb: record.verb,
    channel: channels.intern(record.channelId),
    lid: record.lid === undefined ? 0 : lids.intern(record.channelId, record.lid),
    at: Date.parse(record.at),
    until: record.until === undefined ? Number.POSITIVE_INFINITY : Date.parse(record.until),
  });
}

/** UUIDv8 (RFC 9562) of the name: the first 16 bytes of its SHA-256, with version and variant set. */
function keyOfName(name: string): string {
  const bytes = hash('sha256', name, 'buffer').subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
