import type { Channel, Channels } from '../channel/channels.ts';
import type { Phase } from '../faults/effects.ts';
import { uint32Column } from './columns.ts';
import { createAcceptColumns, createLidBook, createRequestColumns } from './ledger-columns.ts';
import type { Links } from './links.ts';
import { createPairTable } from './pair-table.ts';

/** A rule of the contract that the client broke; the README lists them. */
export type ViolationCode = 'V1' | 'V2' | 'V3' | 'V4' | 'V5' | 'V6' | 'V7' | 'V8' | 'V9' | 'V10' | 'V11' | 'V12';

export interface Violation {
  readonly code: ViolationCode;
  readonly at: number;
  /** The request that showed it. */
  readonly request: number;
  readonly channelId?: string | undefined;
  readonly user?: string;
  readonly lid?: string;
  readonly detail?: string;
}

/** An accepted send. A request that is not accepted leaves no trace here. */
export interface AcceptEntry {
  readonly channel: Channel;
  readonly request: number;
  readonly at: number;
  readonly retryKey: string | undefined;
  readonly lids: readonly string[];
  /** Ordinals of users, in the order sent to. */
  readonly targets: Iterable<number>;
  readonly messageCount: number;
  /** Accepted, and never carried out: nobody receives, nobody counts as suppressed. */
  readonly dropped: boolean;
  /** Friends, unless given. */
  readonly receives?: ((user: number) => boolean) | undefined;
}

/** Everything that happened, in columns; numbers of requests, accepts and receipts count from 1. */
export interface LedgerStore {
  readonly channels: Channels;
  readonly requests: ReturnType<typeof createRequestColumns>;
  readonly accepts: ReturnType<typeof createAcceptColumns>;
  readonly receipts: ReturnType<typeof createReceiptColumns>;
  readonly suppressed: ReturnType<typeof createSuppressedColumns>;
  readonly lids: ReturnType<typeof createLidBook>;
  readonly pairs: ReturnType<typeof createPairTable>;
  readonly violations: Violation[];
  /** By accept; only those that have any. */
  readonly links: Map<number, Links>;
}

export function createLedgerStore(channels: Channels): LedgerStore {
  return {
    channels,
    requests: createRequestColumns(),
    accepts: createAcceptColumns(),
    receipts: createReceiptColumns(),
    suppressed: createSuppressedColumns(),
    lids: createLidBook(),
    pairs: createPairTable(),
    violations: [],
    links: new Map(),
  };
}

const createReceiptColumns = () => ({ user: uint32Column(), accept: uint32Column(), lid: uint32Column() });
const createSuppressedColumns = () => ({ user: uint32Column(), state: [] as string[] });

/**
 * Writes an accept with its receipts, and V12 if a (lid, user) of it was accepted under another key before.
 * A receipt is written for every friend and lid, or once per friend if the messages carry no lid.
 */
export function writeAccept(store: LedgerStore, entry: AcceptEntry): { accept: number; delivered: number } {
  const { accepts, lids } = store;
  const accept = accepts.request.length + 1;
  const lidNumbers = entry.lids.map((lid) => lids.number(entry.channel.ref, lid));
  const suppressedFrom = store.suppressed.user.length;
  const { delivered, rekeyed } = writeReceipts(store, entry, { accept, lids: lidNumbers });
  accepts.push(entry, { lids: lidNumbers, delivered, suppressedFrom });
  if (rekeyed !== undefined) noteRekeyed(store, entry, rekeyed);
  return { accept, delivered };
}

/** As `writeAccept`, for an accept that was written without targets; these must all be friends. */
export function writeLateReceipts(store: LedgerStore, entry: AcceptEntry, accept: number): { delivered: number } {
  const lids = store.accepts.lids[accept - 1] ?? [];
  const { delivered, rekeyed } = writeReceipts(store, entry, { accept, lids });
  store.accepts.delivered.set(accept - 1, delivered);
  if (rekeyed !== undefined) noteRekeyed(store, entry, rekeyed);
  return { delivered };
}

interface Rekeyed {
  readonly user: number;
  readonly lid: number;
  readonly count: number;
}

function writeReceipts(
  store: LedgerStore,
  entry: AcceptEntry,
  { accept, lids: lidNumbers }: { accept: number; lids: readonly number[] },
): { delivered: number; rekeyed: Rekeyed | undefined } {
  const { accepts, lids, pairs } = store;
  const { users } = entry.channel;
  const receives = entry.receives ?? users.isFriend;
  let delivered = 0;
  let rekeyed: Rekeyed | undefined;
  for (const user of entry.targets) {
    const received = !entry.dropped && receives(user);
    if (received) delivered += 1;
    else if (!entry.dropped) suppress(store, user, users.stateOf(user));
    if (received && lidNumbers.length === 0) pushReceipt(store, { user, accept, lid: 0 });
    for (const lid of lidNumbers) {
      if (received) pushReceipt(store, { user, accept, lid });
      else if (entry.dropped) lids.addDropped(lid);
      else lids.addSuppressed(lid);
      const first = pairs.note({ lid, user }, accept, received);
      if (first === accept || (entry.retryKey !== undefined && accepts.retryKey[first - 1] === entry.retryKey))
        continue;
      rekeyed = { user: rekeyed?.user ?? user, lid: rekeyed?.lid ?? lid, count: (rekeyed?.count ?? 0) + 1 };
    }
  }
  return { delivered, rekeyed };
}

/** Ids and quote tokens of an accept's messages; the same whenever they are asked for. */
export function sentMessages({ accepts }: LedgerStore, accept: number): { id: string; quoteToken: string }[] {
  const first = accepts.firstMessage.get(accept - 1);
  return Array.from({ length: accepts.messageCount.get(accept - 1) }, (_, index) => {
    const id = `5${String(first + index).padStart(17, '0')}`;
    return { id, quoteToken: `quote-${id}` };
  });
}

/** How far LINE took a request, by its index. */
export function phaseReached({ requests }: LedgerStore, index: number): Phase {
  if (requests.step[index] === 'accept') return 'afterAccept';
  const unknown = requests.channel.get(index) === 0 || requests.faults.get(index + 1)?.phase === 'beforeAuth';
  return unknown ? 'beforeAuth' : 'beforeAccept';
}

/** Whom an accept did not reach, by its index. */
export function suppressedOf(
  { accepts, suppressed, channels }: LedgerStore,
  accept: number,
): { user: string; why: string }[] {
  const last = accept + 1 === accepts.request.length;
  const end = last ? suppressed.user.length : accepts.suppressedFrom.get(accept + 1);
  const users = channels.byRef(accepts.channel.get(accept))?.users;
  const rows: { user: string; why: string }[] = [];
  for (let index = accepts.suppressedFrom.get(accept); index < end; index += 1) {
    rows.push({ user: users?.idOf(suppressed.user.get(index)) ?? '', why: suppressed.state[index] ?? '' });
  }
  return rows;
}

function suppress({ suppressed }: LedgerStore, user: number, state: string): void {
  suppressed.user.push(user);
  suppressed.state.push(state);
}

function pushReceipt({ receipts }: LedgerStore, receipt: { user: number; accept: number; lid: number }): void {
  receipts.user.push(receipt.user);
  receipts.accept.push(receipt.accept);
  receipts.lid.push(receipt.lid);
}

/** One violation per request, however many users it concerns: a broadcast must not write a million rows. */
function noteRekeyed(store: LedgerStore, entry: AcceptEntry, { user, lid, count }: Rekeyed): void {
  store.violations.push({
    code: 'V12',
    at: entry.at,
    request: entry.request,
    channelId: entry.channel.settings.channelId,
    user: entry.channel.users.idOf(user),
    lid: store.lids.name(lid),
    detail: `${count} in this request`,
  });
}
