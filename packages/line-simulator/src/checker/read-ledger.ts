import { PermanentError } from '@dueline/kernel';
import type { AcceptRow, ReceiptRow, RequestRow, ViolationRow } from '../ledger/ledger.ts';
import { EVERYONE } from './export-format.ts';
import { type History, pushZeros } from './history.ts';
import type { LedgerSource } from './ledger-source.ts';

/** Reads a ledger, each row once. @throws PermanentError if rows are missing: a part of a ledger proves nothing. */
export async function readLedger(history: History, ledger: LedgerSource): Promise<void> {
  for await (const row of ledger.requests()) addRequest(history, row);
  for await (const row of ledger.accepts()) addAccept(history, row);
  for await (const row of ledger.receipts()) addReceipt(history, row);
  for await (const row of ledger.violations()) addViolation(history, row);
}

function addRequest(history: History, row: RequestRow): void {
  const { requests, keys } = history;
  expectNext('request', row.seq, requests.at.length);
  if (requests.ids.intern(row.requestId) !== row.seq) throw new PermanentError('a request id occurs twice');
  const { ids: _ids, ...columns } = requests;
  pushZeros(columns);
  const index = row.seq - 1;
  const at = Date.parse(row.at);
  const channel = row.channelId === null ? 0 : history.channels.intern(row.channelId);
  const key = keys.intern(row.retryKey);
  requests.at.set(index, at);
  requests.channel.set(index, channel);
  requests.path.set(index, history.paths.intern(row.path));
  requests.key.set(index, key);
  requests.status.set(index, row.status === 'none' ? 0 : row.status);
  if (row.faultId !== null) requests.fault.set(index, history.faults.intern(row.faultId));
  if (key === 0) return;
  if (keys.requests.get(key - 1) === 0) keys.firstSeenAt.set(key - 1, at);
  keys.requests.set(key - 1, keys.requests.get(key - 1) + 1);
  keys.channel.set(key - 1, channel);
  keys.lastRequest.set(key - 1, row.seq);
  if (isDoubtful(row)) keys.doubtful.set(key - 1, 1);
}

/** Whether the client may have been left without a whole answer, or with one that proves nothing. */
function isDoubtful({ status, faultId, clientAborted }: RequestRow): boolean {
  if (clientAborted || status === 'none' || status >= 500 || status === 408) return true;
  if (status >= 300 && status < 400) return true;
  // A fault on an answer that would have settled the key: cut, garbled, late, or without its header.
  return faultId !== null && (status < 300 || status === 409);
}

function addAccept(history: History, row: AcceptRow): void {
  const { accepts, requests, lids, keys, dropped } = history;
  expectNext('accept', row.seq, accepts.at.length);
  pushZeros(accepts);
  const index = row.seq - 1;
  const key = keys.intern(row.retryKey);
  accepts.request.set(index, row.requestSeq);
  accepts.at.set(index, Date.parse(row.at));
  accepts.key.set(index, key);
  accepts.delivered.set(index, row.delivered);
  accepts.lidCount.set(index, row.lids.length);
  requests.accept.set(row.requestSeq - 1, row.seq);
  const numbers = row.lids.map((lid) => lids.intern(row.channelId, lid));
  if (row.dropped) {
    accepts.dropped.set(index, 1);
    if (key !== 0) dropped.keys.add(key);
    else for (const lid of numbers) dropped.lids.add(lid);
  }
  const first = numbers[0];
  if (key !== 0 && first !== undefined) keys.lid.set(key - 1, first);
  const toEveryone = isToEveryone(row.path);
  for (const lid of numbers) {
    for (const { user } of row.suppressed) addReach(history, { lid, user, accept: row.seq, received: false });
    // Whoever the friends are at that moment, the send as such is one, and must stay one.
    if (toEveryone) addReach(history, { lid, user: EVERYONE, accept: row.seq, received: true });
  }
}

function isToEveryone(path: string): boolean {
  return path.endsWith('/broadcast') || path.endsWith('/narrowcast');
}

function addReceipt(history: History, row: ReceiptRow): void {
  const { accepts, lids, counts } = history;
  counts.receipts += 1;
  if (counts.receipts !== row.seq)
    throw new PermanentError('the ledger lacks a receipt', { context: { seq: row.seq } });
  accepts.receipts.set(row.acceptSeq - 1, accepts.receipts.get(row.acceptSeq - 1) + 1);
  if (row.lid === null) return;
  const lid = lids.intern(row.channelId, row.lid);
  addReach(history, { lid, user: row.user, accept: row.acceptSeq, received: true });
}

interface Reached {
  readonly lid: number;
  readonly user: string;
  readonly accept: number;
  readonly received: boolean;
}

function addReach({ users, pairs, reach }: History, { lid, user, accept, received }: Reached): void {
  const pair = pairs.intern(lid, users.intern(user));
  if (received) pairs.receipts.set(pair - 1, pairs.receipts.get(pair - 1) + 1);
  else pairs.suppressed.set(pair - 1, 1);
  reach.pair.push(pair);
  reach.accept.push(accept);
}

function addViolation({ violations }: History, row: ViolationRow): void {
  const { code, requestSeq: request, channelId, user, lid, detail } = row;
  violations.push({ code, request, channelId, user, lid, detail });
}

function expectNext(what: string, seq: number, count: number): void {
  if (seq !== count + 1) throw new PermanentError(`the ledger lacks a ${what}`, { context: { seq: count + 1 } });
}
