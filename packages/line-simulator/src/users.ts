import { PermanentError } from '@dueline/kernel';
import type { UserGroup, UserState } from './config.ts';
import { isUserId, nthUserId, numberWithin, userIdHead } from './user-ids.ts';

const STATES = ['friend', 'blocked', 'deleted', 'stranger'] as const satisfies readonly UserState[];
const FRIEND = 0;
/** The ledger numbers users in 24 bits; the rest is for ids that were never seeded. */
const MAX_USERS = 15_000_000;

/**
 * The users of one channel, each known by an ordinal, so that a million of them cost a byte each.
 * Ids that were never seeded get ordinals from `size` on when something is recorded about them.
 */
export interface Users {
  readonly size: number;
  /** Undefined if the user was not seeded. */
  find(userId: string): number | undefined;
  /** The ordinal to record something under, seeded or not. */
  record(userId: string): number;
  /** As `record`, but undefined for an id that nothing was recorded about. */
  lookUp(userId: string): number | undefined;
  idOf(ordinal: number): string;
  isFriend(ordinal: number): boolean;
  stateOf(ordinal: number): UserState | 'unknown';
  setState(ordinal: number, state: UserState): void;
  friendCount(): number;
  /** Ordinals of all friends from `start` on. */
  friends(start?: number): Iterable<number>;
}

interface Range {
  readonly prefix: string;
  readonly head: string;
  readonly base: number;
  readonly count: number;
}

/** @throws PermanentError if two groups share a user. */
export function createUsers(groups: readonly UserGroup[]): Users {
  const { ranges, listed, size, states } = layOut(groups);
  const listedOrdinals = new Map(listed.map(({ userId, ordinal }) => [userId, ordinal]));
  const listedIds = new Map(listed.map(({ userId, ordinal }) => [ordinal, userId]));
  const unknownIds: string[] = [];
  const unknownOrdinals = new Map<string, number>();
  let friends = states.reduce((count, state) => count + (state === FRIEND ? 1 : 0), 0);

  const find = (userId: string): number | undefined => listedOrdinals.get(userId) ?? findInRanges(ranges, userId);
  const users: Users = {
    size,
    find,
    record(userId) {
      const known = users.lookUp(userId);
      if (known !== undefined) return known;
      const ordinal = size + unknownIds.push(userId) - 1;
      unknownOrdinals.set(userId, ordinal);
      return ordinal;
    },
    lookUp: (userId) => find(userId) ?? unknownOrdinals.get(userId),
    idOf(ordinal) {
      const range = ranges.find(({ base, count }) => ordinal >= base && ordinal < base + count);
      if (range !== undefined) return nthUserId(range.prefix, ordinal - range.base);
      return listedIds.get(ordinal) ?? unknownIds[ordinal - size] ?? '';
    },
    isFriend: (ordinal) => states[ordinal] === FRIEND,
    stateOf: (ordinal) => STATES[states[ordinal] ?? -1] ?? 'unknown',
    setState(ordinal, state) {
      const next = STATES.indexOf(state);
      friends += (next === FRIEND ? 1 : 0) - (states[ordinal] === FRIEND ? 1 : 0);
      states[ordinal] = next;
    },
    friendCount: () => friends,
    *friends(start = 0) {
      for (let ordinal = start; ordinal < size; ordinal += 1) if (states[ordinal] === FRIEND) yield ordinal;
    },
  };
  return users;
}

function findInRanges(ranges: readonly Range[], userId: string): number | undefined {
  if (!isUserId(userId)) return undefined;
  for (const range of ranges) {
    const n = numberWithin(range.head, userId);
    if (n !== undefined && n < range.count) return range.base + n;
  }
  return undefined;
}

function layOut(groups: readonly UserGroup[]) {
  const ranges: Range[] = [];
  const listed: { userId: string; ordinal: number }[] = [];
  const seen = new Set<string>();
  const fills: { base: number; end: number; state: UserState }[] = [];
  let size = 0;
  for (const group of groups) {
    const base = size;
    if ('prefix' in group) {
      const head = userIdHead(group.prefix);
      if (ranges.some((range) => range.head === head)) throw new PermanentError('two user groups share a prefix');
      ranges.push({ prefix: group.prefix, head, base, count: group.count });
      size += group.count;
    } else {
      for (const userId of group.ids) {
        if (seen.has(userId)) throw new PermanentError('a user is listed twice', { context: { userId } });
        seen.add(userId);
        listed.push({ userId, ordinal: size++ });
      }
    }
    fills.push({ base, end: size, state: group.state });
  }
  const shared = listed.find(({ userId }) => findInRanges(ranges, userId) !== undefined);
  if (shared !== undefined)
    throw new PermanentError('a listed user is also in a group', { context: { userId: shared.userId } });
  if (size > MAX_USERS) throw new PermanentError('too many users for one channel', { context: { size } });
  const states = new Uint8Array(size);
  for (const { base, end, state } of fills) states.fill(STATES.indexOf(state), base, end);
  return { ranges, listed, size, states };
}
