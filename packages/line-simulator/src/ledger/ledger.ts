import type { Phase } from '../faults/effects.ts';
import { type LedgerStore, phaseReached, suppressedOf, type ViolationCode } from './ledger-store.ts';

/** One request, answered or not. Instants are RFC 3339 in UTC with milliseconds; `seq` counts from 1 in order of arrival. */
export interface RequestRow {
  seq: number;
  at: string;
  channelId: string | null;
  method: string;
  path: string;
  retryKey: string | null;
  /** 1 for the first request with this key; null without a key. */
  keyAttempt: number | null;
  bodySha256: string | null;
  /** Recipients named; null where the request names none. */
  toCount: number | null;
  status: number | 'none';
  /** The check that answered. */
  step: string | null;
  /** How far LINE took it; an answer that broke off or never came says less than this. */
  phaseReached: Phase;
  /** The fault that it met. */
  faultId: string | null;
  /** The client went away before its answer. */
  clientAborted: boolean;
  requestId: string;
}

/** One accepted send. */
export interface AcceptRow {
  seq: number;
  requestSeq: number;
  channelId: string;
  path: string;
  retryKey: string | null;
  requestId: string;
  at: string;
  lids: string[];
  delivered: number;
  /** Never carried out, although it was accepted: nobody received it. */
  dropped: boolean;
  suppressed: { user: string; why: string }[];
}

/** One user received one logical send (`lid` is null if the messages carried none). */
export interface ReceiptRow {
  seq: number;
  acceptSeq: number;
  channelId: string;
  user: string;
  lid: string | null;
  at: string;
  requestId: string;
  retryKey: string | null;
}

/** One breach of the contract by the client. */
export interface ViolationRow {
  seq: number;
  code: ViolationCode;
  at: string;
  requestSeq: number;
  requestId: string;
  channelId: string | null;
  retryKey: string | null;
  user: string | null;
  lid: string | null;
  detail: string | null;
}

/** What one logical send came to on one channel. */
export interface SummaryRow {
  channelId: string;
  lid: string;
  receipts: number;
  distinctUsers: number;
  maxPerUser: number;
  /** Recipients that LINE would accept and not reach: blocked, deleted, no friend, unknown. */
  suppressed: number;
  /** Recipients of accepts that were never carried out. */
  dropped: number;
}

/** Which rows to read; what is left out does not restrict. `since` takes the rows whose `seq` is greater. */
export interface LedgerFilter {
  since?: number | undefined;
  lid?: string | undefined;
  user?: string | undefined;
  channel?: string | undefined;
}

/** Reads what the simulator recorded, oldest first, while it goes on recording. */
export interface Ledger {
  /** `lid` and `user` do not restrict requests. */
  requests(filter?: LedgerFilter): Iterable<RequestRow>;
  /** `user` does not restrict accepts. */
  accepts(filter?: LedgerFilter): Iterable<AcceptRow>;
  receipts(filter?: LedgerFilter): Iterable<ReceiptRow>;
  violations(filter?: LedgerFilter): Iterable<ViolationRow>;
  /** One row per channel and lid, in order of first acceptance. */
  summary(filter?: Pick<LedgerFilter, 'lid' | 'channel'>): SummaryRow[];
}

/** @param current The store of now; a reset replaces it. */
export function createLedger(current: () => LedgerStore): Ledger {
  return {
    requests: (filter = {}) => requestRows(current(), filter),
    accepts: (filter = {}) => acceptRows(current(), filter),
    receipts: (filter = {}) => receiptRows(current(), filter),
    violations: (filter = {}) => violationRows(current(), filter),
    summary: (filter = {}) => summaryRows(current(), filter),
  };
}

const instant = (ms: number) => new Date(ms).toISOString();
const matches = (wanted: string | undefined, value: string | null | undefined) =>
  wanted === undefined || wanted === value;

function channelIdOf(store: LedgerStore, ref: number): string | null {
  return store.channels.byRef(ref)?.settings.channelId ?? null;
}

function* requestRows(store: LedgerStore, filter: LedgerFilter): Generator<RequestRow> {
  const { requests } = store;
  for (let index = filter.since ?? 0; index < requests.count; index += 1) {
    const channelId = channelIdOf(store, requests.channel.get(index));
    if (!matches(filter.channel, channelId)) continue;
    yield {
      seq: index + 1,
      at: instant(requests.at.get(index)),
      channelId,
      method: requests.method[index] ?? '',
      path: requests.path[index] ?? '',
      retryKey: requests.retryKey[index] ?? null,
      keyAttempt: requests.keyAttempt.get(index) || null,
      bodySha256: requests.hasBody.get(index) === 1 ? requests.body.hex(index) : null,
      toCount: requests.toCount.get(index) || null,
      status: requests.status.get(index) || 'none',
      step: requests.step[index] || null,
      phaseReached: phaseReached(store, index),
      faultId: requests.faults.get(index + 1)?.id ?? null,
      clientAborted: requests.aborted.has(index + 1),
      requestId: requests.requestId[index] ?? '',
    };
  }
}

function* acceptRows(store: LedgerStore, filter: LedgerFilter): Generator<AcceptRow> {
  const { accepts, requests, lids } = store;
  for (let index = filter.since ?? 0; index < accepts.request.length; index += 1) {
    const names = (accepts.lids[index] ?? []).map((lid) => lids.name(lid));
    const channelId = channelIdOf(store, accepts.channel.get(index)) ?? '';
    if (!matches(filter.channel, channelId) || (filter.lid !== undefined && !names.includes(filter.lid))) continue;
    const request = accepts.request.get(index) - 1;
    yield {
      seq: index + 1,
      requestSeq: request + 1,
      channelId,
      path: requests.path[request] ?? '',
      retryKey: accepts.retryKey[index] ?? null,
      requestId: requests.requestId[request] ?? '',
      at: instant(accepts.at.get(index)),
      lids: names,
      delivered: accepts.delivered.get(index),
      dropped: accepts.dropped.has(index + 1),
      suppressed: suppressedOf(store, index),
    };
  }
}

function* receiptRows(store: LedgerStore, filter: LedgerFilter): Generator<ReceiptRow> {
  const { accepts, requests, receipts, lids, channels } = store;
  const userOrdinals = new Map<number, number | undefined>();
  const ordinalIn = (ref: number, user: string) => {
    if (!userOrdinals.has(ref)) userOrdinals.set(ref, channels.byRef(ref)?.users.lookUp(user));
    return userOrdinals.get(ref);
  };
  for (let index = filter.since ?? 0; index < receipts.user.length; index += 1) {
    const accept = receipts.accept.get(index) - 1;
    const ref = accepts.channel.get(accept);
    const user = receipts.user.get(index);
    // Numbers are compared before any row is made: a filter over millions of receipts must not build them all.
    if (filter.user !== undefined && ordinalIn(ref, filter.user) !== user) continue;
    const lid = receipts.lid.get(index);
    if (filter.lid !== undefined && lids.name(lid) !== filter.lid) continue;
    const channel = channels.byRef(ref);
    if (!matches(filter.channel, channel?.settings.channelId)) continue;
    yield {
      seq: index + 1,
      acceptSeq: accept + 1,
      channelId: channel?.settings.channelId ?? '',
      user: channel?.users.idOf(user) ?? '',
      lid: lid === 0 ? null : lids.name(lid),
      at: instant(accepts.at.get(accept)),
      requestId: requests.requestId[accepts.request.get(accept) - 1] ?? '',
      retryKey: accepts.retryKey[accept] ?? null,
    };
  }
}

function* violationRows(store: LedgerStore, filter: LedgerFilter): Generator<ViolationRow> {
  const { violations, requests } = store;
  for (let index = filter.since ?? 0; index < violations.length; index += 1) {
    const row = violations[index];
    if (row === undefined || !matches(filter.channel, row.channelId)) continue;
    if (!matches(filter.user, row.user) || !matches(filter.lid, row.lid)) continue;
    yield {
      seq: index + 1,
      code: row.code,
      at: instant(row.at),
      requestSeq: row.request,
      requestId: requests.requestId[row.request - 1] ?? '',
      channelId: row.channelId ?? null,
      retryKey: requests.retryKey[row.request - 1] ?? null,
      user: row.user ?? null,
      lid: row.lid ?? null,
      detail: row.detail ?? null,
    };
  }
}

function summaryRows(store: LedgerStore, filter: Pick<LedgerFilter, 'lid' | 'channel'>): SummaryRow[] {
  const { lids, pairs } = store;
  const rows = Array.from(
    { length: lids.count },
    (_, index): SummaryRow => ({
      channelId: channelIdOf(store, lids.channelRef(index + 1)) ?? '',
      lid: lids.name(index + 1),
      receipts: 0,
      distinctUsers: 0,
      maxPerUser: 0,
      suppressed: lids.suppressed(index + 1),
      dropped: lids.dropped(index + 1),
    }),
  );
  pairs.forEach((lid, _user, receipts) => {
    const row = rows[lid - 1];
    if (row === undefined) return;
    row.receipts += receipts;
    if (receipts > 0) row.distinctUsers += 1;
    row.maxPerUser = Math.max(row.maxPerUser, receipts);
  });
  return rows.filter((row) => matches(filter.lid, row.lid) && matches(filter.channel, row.channelId));
}
