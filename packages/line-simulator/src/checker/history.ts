import { compact } from '../compact.ts';
import { type Column, float64Column, uint8Column, uint32Column } from '../ledger/columns.ts';
import type { RecordOf } from './export-format.ts';
import { createIdBook, createWordTable, USER_ID, UUID } from './id-book.ts';

/**
 * Ledger and export side by side, in columns. All numbers count from 1 and 0 stands for none; row n of a table is at
 * index n - 1 of its columns. Instants are milliseconds since 1970.
 */
export type History = ReturnType<typeof createHistory>;

/** An acknowledged pause or cancel. `lid` 0 is the whole channel; `until` is infinite if it was not resumed. */
export interface Stop {
  readonly verb: RecordOf<'stop'>['verb'];
  readonly channel: number;
  readonly lid: number;
  readonly at: number;
  readonly until: number;
}

/** Something that an attempt claims and the ledger or its own key name denies. */
export interface Mismatch {
  readonly attempt: number;
  readonly claim: 'requestId' | 'acceptedRequestId' | 'keyName';
  readonly value: string;
}

interface KeptViolation {
  readonly code: string;
  readonly request: number;
  readonly channelId: string | null;
  readonly user: string | null;
  readonly lid: string | null;
  readonly detail: string | null;
}

export function createHistory() {
  const channels = createNameBook();
  return {
    channels,
    /** A lid belongs to its channel. */
    lids: createLids(channels),
    users: createIdBook(USER_ID),
    paths: createNameBook(),
    faults: createNameBook(),
    pairs: createPairs(),
    keys: createKeys(),
    requests: createRequests(),
    accepts: createAccepts(),
    /** Which accept named which pair, whether or not the user received. */
    reach: { pair: uint32Column(), accept: uint32Column() },
    attempts: createAttempts(),
    stops: [] as Stop[],
    mismatches: [] as Mismatch[],
    violations: [] as KeptViolation[],
    consumptions: [] as RecordOf<'consumption'>[],
    totals: [] as { lid: number; accepted: number }[],
    /** Keys, and for sends without one lids, that LINE accepted and dropped. */
    dropped: { keys: new Set<number>(), lids: new Set<number>() },
    counts: { receipts: 0 },
  };
}

/** Appends a row of zeros to every column of a table. */
export function pushZeros(columns: object): void {
  for (const column of Object.values(columns) as Column[]) column.push(0);
}

function createNameBook() {
  const numbers = new Map<string, number>();
  const names: string[] = [];
  return {
    intern(name: string): number {
      const known = numbers.get(name);
      if (known !== undefined) return known;
      const kept = compact(name);
      numbers.set(kept, names.push(kept));
      return names.length;
    },
    find: (name: string) => numbers.get(name) ?? 0,
    name: (number: number) => names[number - 1] ?? '',
  };
}

function createLids(channels: ReturnType<typeof createNameBook>) {
  const ofChannel: Map<string, number>[] = [];
  const names: string[] = [];
  const channel = uint32Column();
  return {
    get count() {
      return names.length;
    },
    intern(channelId: string, lid: string): number {
      const owner = channels.intern(channelId);
      let numbers = ofChannel[owner];
      if (numbers === undefined) {
        numbers = new Map();
        ofChannel[owner] = numbers;
      }
      const known = numbers.get(lid);
      if (known !== undefined) return known;
      const kept = compact(lid);
      channel.push(owner);
      numbers.set(kept, names.push(kept));
      return names.length;
    },
    name: (lid: number) => names[lid - 1] ?? '',
    channelOf: (lid: number) => channel.get(lid - 1),
  };
}

/** (lid, user): what was planned, what the client says, and what the user got. */
function createPairs() {
  const table = createWordTable();
  const words = new Uint32Array(4);
  const columns = {
    planned: uint8Column(),
    dueAt: float64Column(),
    /** Place in STATES, from 1. */
    state: uint8Column(),
    stateAt: float64Column(),
    key: uint32Column(),
    receipts: uint32Column(),
    /** Named in an accept by which LINE could not reach the user. */
    suppressed: uint8Column(),
  };
  return {
    ...columns,
    get count() {
      return table.size;
    },
    intern(lid: number, user: number): number {
      words[0] = lid;
      words[1] = user;
      const pair = table.intern(words);
      if (pair > columns.planned.length) pushZeros(columns);
      return pair;
    },
    find(lid: number, user: number): number {
      words[0] = lid;
      words[1] = user;
      return table.find(words);
    },
    lid: (pair: number) => table.word(pair, 0),
    user: (pair: number) => table.word(pair, 1),
  };
}

function createKeys() {
  const book = createIdBook(UUID);
  const columns = {
    /** By the ledger. */
    firstSeenAt: float64Column(),
    /** By the export. */
    firstAttemptAt: float64Column(),
    channel: uint32Column(),
    lid: uint32Column(),
    lastRequest: uint32Column(),
    requests: uint32Column(),
    /** Attempts that may have reached LINE. */
    attempts: uint32Column(),
    /** The ledger shows an answer that the client may not have had whole. */
    doubtful: uint8Column(),
    /** The client could not, or did not come to, write an outcome. */
    open: uint8Column(),
    ambiguous: uint8Column(),
    /** How long the longest ambiguous attempt took. */
    ambiguousMs: float64Column(),
  };
  return {
    ...columns,
    get count() {
      return book.size;
    },
    intern(key: string | null): number {
      if (key === null) return 0;
      const number = book.intern(key);
      if (number > columns.channel.length) pushZeros(columns);
      return number;
    },
    name: book.name,
  };
}

function createRequests() {
  const ids = createIdBook(UUID);
  const columns = {
    at: float64Column(),
    channel: uint32Column(),
    path: uint32Column(),
    key: uint32Column(),
    /** 0 if there was no answer. */
    status: uint32Column(),
    fault: uint32Column(),
    /** The accept that it became. */
    accept: uint32Column(),
  };
  return { ...columns, ids };
}

function createAccepts() {
  return {
    request: uint32Column(),
    at: float64Column(),
    key: uint32Column(),
    delivered: uint32Column(),
    /** Receipts that name it. */
    receipts: uint32Column(),
    lidCount: uint32Column(),
    dropped: uint8Column(),
  };
}

function createAttempts() {
  return {
    lid: uint32Column(),
    key: uint32Column(),
    /** The ledger's request of its request id. */
    request: uint32Column(),
    startedAt: float64Column(),
    finishedAt: float64Column(),
    /** Place in OUTCOMES, from 1. */
    outcome: uint8Column(),
  };
}
