import { hash } from 'node:crypto';

/** Numbers, from 1, for keys of 128 bits: 24 to 48 bytes each, where a Map of strings takes 100 and more. */
export interface WordTable {
  readonly size: number;
  /** The number of the key; a new one is given if it has none. */
  intern(words: Uint32Array): number;
  /** 0 if the key has no number. */
  find(words: Uint32Array): number;
  word(number: number, index: number): number;
}

const WORDS = 4;
const FIRST_SLOTS = 1_024;

export function createWordTable(): WordTable {
  let slots = new Uint32Array(FIRST_SLOTS);
  let keys = new Uint32Array((FIRST_SLOTS / 2) * WORDS);
  let size = 0;

  const holds = (number: number, words: Uint32Array) => {
    const from = (number - 1) * WORDS;
    for (let index = 0; index < WORDS; index += 1) if (keys[from + index] !== words[index]) return false;
    return true;
  };
  const slotOf = (words: Uint32Array) => {
    const mask = slots.length - 1;
    let slot = mixed(words) & mask;
    for (let number = slots[slot] ?? 0; number !== 0 && !holds(number, words); number = slots[slot] ?? 0) {
      slot = (slot + 1) & mask;
    }
    return slot;
  };
  const grow = () => {
    const larger = new Uint32Array(keys.length * 2);
    larger.set(keys);
    keys = larger;
    slots = new Uint32Array(slots.length * 2);
    for (let number = 1; number <= size; number += 1) {
      slots[slotOf(keys.subarray((number - 1) * WORDS, number * WORDS))] = number;
    }
  };

  return {
    get size() {
      return size;
    },
    intern(words) {
      const known = slots[slotOf(words)] ?? 0;
      if (known !== 0) return known;
      if (size * 2 >= slots.length) grow();
      keys.set(words, size * WORDS);
      size += 1;
      slots[slotOf(words)] = size;
      return size;
    },
    find: (words) => slots[slotOf(words)] ?? 0,
    word: (number, index) => keys[(number - 1) * WORDS + index] ?? 0,
  };
}

/** Numbers for ids of one kind, and the ids by their numbers. */
export interface IdBook {
  readonly size: number;
  intern(id: string): number;
  find(id: string): number;
  name(number: number): string;
}

/** What the ids of a kind look like around their 32 hex digits. */
interface Shape {
  readonly length: number;
  readonly prefix: string;
  readonly dashes: ReadonlySet<number>;
}

export const USER_ID: Shape = { length: 33, prefix: 'U', dashes: new Set() };
export const UUID: Shape = { length: 36, prefix: '', dashes: new Set([8, 13, 18, 23]) };

/** Ids of the shape are kept as their bits; any other is kept as it is, under its SHA-256. Case of UUIDs is one. */
export function createIdBook(shape: Shape): IdBook {
  const table = createWordTable();
  const odd = new Map<number, string>();
  const words = new Uint32Array(WORDS);
  return {
    get size() {
      return table.size;
    },
    intern(id) {
      if (readDigits(shape, id, words)) return table.intern(words);
      readDigest(id, words);
      const number = table.intern(words);
      odd.set(number, id);
      return number;
    },
    find(id) {
      if (!readDigits(shape, id, words)) readDigest(id, words);
      return table.find(words);
    },
    name: (number) => odd.get(number) ?? digitsOf(shape, table, number),
  };
}

function readDigits({ length, prefix, dashes }: Shape, id: string, words: Uint32Array): boolean {
  if (id.length !== length || !id.startsWith(prefix)) return false;
  let digits = 0;
  for (let index = prefix.length; index < length; index += 1) {
    const code = id.charCodeAt(index);
    if (dashes.has(index)) {
      if (code !== 45) return false;
      continue;
    }
    // A user id in capitals is another id; a UUID in capitals is the same.
    const digit = hexDigit(prefix === '' ? code | 32 : code);
    if (digit < 0) return false;
    words[digits >> 3] = ((words[digits >> 3] ?? 0) << 4) | digit;
    digits += 1;
  }
  return true;
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  return code >= 97 && code <= 102 ? code - 87 : -1;
}

function readDigest(id: string, words: Uint32Array): void {
  const digest = hash('sha256', id, 'buffer');
  for (let index = 0; index < WORDS; index += 1) words[index] = digest.readUInt32BE(index * 4);
}

function digitsOf({ length, prefix, dashes }: Shape, table: WordTable, number: number): string {
  let digits = '';
  for (let index = 0; index < WORDS; index += 1) digits += table.word(number, index).toString(16).padStart(8, '0');
  let id = prefix;
  let next = 0;
  while (id.length < length) id += dashes.has(id.length) ? '-' : digits[next++];
  return id;
}

function mixed(words: Uint32Array): number {
  let bits = 0x9e3779b1;
  for (let index = 0; index < WORDS; index += 1) {
    bits = Math.imul(bits ^ (words[index] ?? 0), 0x85ebca6b);
    bits ^= bits >>> 15;
  }
  return bits >>> 0;
}
