import type {
  AcceptRow,
  AttemptOutcome,
  ExportRecord,
  ReceiptRow,
  RecipientState,
  RequestRow,
  ViolationRow,
} from '../../src/index.ts';
import { CHANNEL, key, MULTICAST, user } from '../support.ts';

export const LID = 'c:1:1';
const START = Date.parse('2026-12-01T00:00:00.000Z');
/** So many minutes after the start of the story. */
export const at = (minutes: number) => new Date(START + minutes * 60_000).toISOString();
const requestId = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

interface Sent {
  key?: number | null;
  users?: readonly number[];
  lid?: string;
  minute?: number;
  status?: number | 'none';
  path?: string;
  fault?: string;
  clientAborted?: boolean;
  /** Whether LINE took it; by default, if the status says so. */
  accepted?: boolean;
  blocked?: readonly number[];
  dropped?: boolean;
  delivered?: number;
}

interface Tried {
  key?: number | null;
  lid?: string;
  minute?: number;
  /** When it was over; at once, unless given. */
  until?: number;
  outcome?: AttemptOutcome | null;
  requestId?: string | null;
  acceptedRequestId?: string | null;
  keyName?: string;
}

/** A tiny history, written down as it happens: what LINE saw, and what the client says. */
export function createStory() {
  const requests: RequestRow[] = [];
  const accepts: AcceptRow[] = [];
  const receipts: ReceiptRow[] = [];
  const violations: ViolationRow[] = [];
  const records: ExportRecord[] = [];
  const receiptOf = (accept: AcceptRow, lid: string | null, n: number): ReceiptRow => ({
    seq: receipts.length + 1,
    acceptSeq: accept.seq,
    channelId: CHANNEL,
    user: user(n),
    lid,
    at: accept.at,
    requestId: accept.requestId,
    retryKey: accept.retryKey,
  });

  const story = {
    ledger: {
      requests: () => requests,
      accepts: () => accepts,
      receipts: () => receipts,
      violations: () => violations,
    },
    records,

    /** A request that LINE saw, its accept and its receipts. Returns its request id. */
    line(sent: Sent = {}): string {
      const {
        users = [1],
        lid = LID,
        minute = 0,
        status = 200,
        path = MULTICAST,
        blocked = [],
        dropped = false,
      } = sent;
      const retryKey = sent.key === null ? null : key(sent.key ?? 1);
      const seq = requests.length + 1;
      requests.push({
        seq,
        at: at(minute),
        channelId: CHANNEL,
        method: 'POST',
        path,
        retryKey,
        keyAttempt: retryKey === null ? null : requests.filter((row) => row.retryKey === retryKey).length + 1,
        bodySha256: null,
        toCount: users.length,
        status,
        step: null,
        requestId: requestId(seq),
        phaseReached: 'afterAccept',
        faultId: sent.fault ?? null,
        clientAborted: sent.clientAborted ?? false,
      });
      if (sent.accepted ?? status === 200) {
        const reached = dropped ? [] : users.filter((n) => !blocked.includes(n));
        const accept: AcceptRow = {
          seq: accepts.length + 1,
          requestSeq: seq,
          channelId: CHANNEL,
          path,
          retryKey,
          requestId: requestId(seq),
          at: at(minute),
          lids: [lid],
          delivered: sent.delivered ?? reached.length,
          suppressed: blocked.map((n) => ({ user: user(n), why: 'blocked' })),
          dropped,
        };
        accepts.push(accept);
        for (const n of reached) receipts.push(receiptOf(accept, lid, n));
      }
      return requestId(seq);
    },

    violation(code: ViolationRow['code'], row: Partial<ViolationRow> = {}): void {
      const seq = violations.length + 1;
      violations.push({
        seq,
        code,
        at: at(0),
        requestSeq: 1,
        requestId: requestId(1),
        channelId: CHANNEL,
        retryKey: null,
        user: null,
        lid: null,
        detail: null,
        ...row,
      });
    },

    plan(users: readonly number[] = [1], { lid = LID, due }: { lid?: string; due?: number } = {}): void {
      for (const n of users) {
        const dueAt = due === undefined ? {} : { dueAt: at(due) };
        records.push({ kind: 'planned', channelId: CHANNEL, lid, user: user(n), ...dueAt });
      }
    },

    say(
      state: RecipientState,
      { users = [1], lid = LID, key: n = 1, minute = 0 }: Pick<Sent, 'users' | 'lid' | 'key' | 'minute'> = {},
    ): void {
      const retryKey = n === null ? {} : { retryKey: key(n) };
      for (const who of users) {
        records.push({ kind: 'state', channelId: CHANNEL, lid, user: user(who), state, at: at(minute), ...retryKey });
      }
    },

    attempt(tried: Tried = {}): void {
      const { lid = LID, minute = 0, outcome = 'ACCEPTED', keyName } = tried;
      records.push({
        kind: 'attempt',
        channelId: CHANNEL,
        lid,
        retryKey: tried.key === null ? null : key(tried.key ?? 1),
        requestId: tried.requestId ?? null,
        acceptedRequestId: tried.acceptedRequestId ?? null,
        startedAt: at(minute),
        finishedAt: outcome === null ? null : at(tried.until ?? minute),
        outcome,
        ...(keyName !== undefined && { keyName }),
      });
    },

    record(record: ExportRecord): void {
      records.push(record);
    },
  };
  return story;
}

export type Story = ReturnType<typeof createStory>;
