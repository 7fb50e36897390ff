import { PermanentError } from '@dueline/kernel';
import type { UserGroup, UserState } from '../config.ts';
import { isUserId, nthUserId, numberWithin, userIdHead } from './user-ids.ts';

const STATES = ['friend', 'blocked', 'deleted', 'stranger', 'unknown'] as const satisfies readonly AnyState[];
const FRIEND = 0;
const UNKNOWN = 4;
/** The ledger numbers users in 24 bits; the rest is for ids that were never seeded. */
const MAX_USERS = 15_000_000;

/**
 * The users of one channel, each known by an ordinal, so that a million of them cost a byte each.
 * Ids that were never seeded get ordinals beyond all others when something is recorded about them.
 */
export interface Users {
  /** Undefined if the user was not seeded, or is not known any more. */
  find(userId: string): number | undefined;
  /** The ordinal to record something under, seeded or not. */
  record(userId: string): number;
  /** As `record`, but undefined for an id that was never seeded and that nothing was recorded about. */
  lookUp(userId: string): number | undefined;
  idOf(ordinal: number): string;
  isFriend(ordinal: number): boolean;
  stateOf(ordinal: number): AnyState;
  setState(ordinal: number, state: AnyState): void;
  friendCount(): number;
  /**
   * Adds users and returns how many there are now.
   *
   * @throws PermanentError, having added none, if one is there already, or was named in a request before.
   */
  seed(groups: readonly UserGroup[]): number;
  /** About so large a part of the users in one state; the same seed draws the same. */
  draw(state: UserState, part: { fraction: number; seed: number }): number[];
  /** Ordinals of all friends from `start` on. */
  friends(start?: number): Iterable<number>;
}

type AnyState = UserState | 'unknown';

interface Range {
  readonly prefix: string;
  readonly head: string;
  readonly base: number;
  readonly count: number;
}

/** @throws PermanentError if two groups share a user. */
export function createUsers(groups: readonly UserGroup[]): Users {
  let all = groups;
  let layout = layOut(groups);
  const unknownIds: string[] = [];
  const unknownOrdinals = new Map<string, number>();
  let friends = countFriends(layout.states, 0);

  const users: Users = {
    find(userId) {
      const ordinal = findIn(layout, userId);
      return ordinal === undefined || layout.states[ordinal] === UNKNOWN ? undefined : ordinal;
    },
    record(userId) {
      const known = users.lookUp(userId);
      if (known !== undefined) return known;
      const ordinal = MAX_USERS + unknownIds.push(userId) - 1;
      unknownOrdinals.set(userId, ordinal);
      return ordinal;
    },
    lookUp: (userId) => findIn(layout, userId) ?? unknownOrdinals.get(userId),
    idOf(ordinal) {
      const range = layout.ranges.find(({ base, count }) => ordinal >= base && ordinal < base + count);
      if (range !== undefined) return nthUserId(range.prefix, ordinal - range.base);
      return layout.listedIds.get(ordinal) ?? unknownIds[ordinal - MAX_USERS] ?? '';
    },
    isFriend: (ordinal) => layout.states[ordinal] === FRIEND,
    stateOf: (ordinal) => STATES[layout.states[ordinal] ?? -1] ?? 'unknown',
    setState(ordinal, state) {
      const next = STATES.indexOf(state);
      friends += (next === FRIEND ? 1 : 0) - (layout.states[ordinal] === FRIEND ? 1 : 0);
      layout.states[ordinal] = next;
    },
    friendCount: () => friends,
    *friends(start = 0) {
      for (let ordinal = start; ordinal < layout.size; ordinal += 1) if (users.isFriend(ordinal)) yield ordinal;
    },
    seed(added) {
      // Those of before keep their ordinals, for they come first.
      const next = layOut([...all, ...added]);
      const named = unknownIds.find((userId) => findIn(next, userId) !== undefined);
      if (named !== undefined) {
        throw new PermanentError('the ledger knows a user as unknown already', { context: { userId: named } });
      }
      friends += countFriends(next.states, layout.size);
      next.states.set(layout.states);
      all = [...all, ...added];
      layout = next;
      return layout.size;
    },
    draw: (state, part) => drawn(layout.states, STATES.indexOf(state), part),
  };
  return users;
}

function countFriends(states: Uint8Array, from: number): number {
  return states.subarray(from).reduce((count, state) => count + (state === FRIEND ? 1 : 0), 0);
}

/** Each user is drawn by number and seed alone, so that what was drawn before does not change who comes next. */
function drawn(states: Uint8Array, state: number, { fraction, seed }: { fraction: number; seed: number }): number[] {
  const ordinals: number[] = [];
  states.forEach((value, ordinal) => {
    let mixed = Math.imul(ordinal + 1, 0x9e3779b1) ^ Math.imul(seed + 1, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
    mixed = Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
    if (value === state && ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32 < fraction) ordinals.push(ordinal);
  });
  return ordinals;
}

function findIn({ ranges, listedOrdinals }: ReturnType<typeof layOut>, userId: string): number | undefined {
  return listedOrdinals.get(userId) ?? findInRanges(ranges, userId);
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
  const listedOrdinals = new Map(listed.map(({ userId, ordinal }) => [userId, ordinal]));
  const listedIds = new Map(listed.map(({ userId, ordinal }) => [ordinal, userId]));
  return { ranges, listedOrdinals, listedIds, size, states };
}
