/**
 * What is known of each (lid, user): the accept that named the pair first, and how often the user received.
 * Open addressing over typed arrays: about 32 bytes a pair, where a Map of numbers takes three times as much.
 */
export interface PairTable {
  /** Notes one more accept of the pair and returns the accept that named it first. `lid` is at least 1. */
  note(pair: { lid: number; user: number }, accept: number, received: boolean): number;
  /** Every pair once, in no order. */
  forEach(visit: (lid: number, user: number, receipts: number) => void): void;
}

/** Users of a channel are numbered below this, so a pair fits the 53 bits of a number. */
const USERS = 2 ** 24;

export function createPairTable(): PairTable {
  let table = emptyTable(1_024);
  let used = 0;

  const grow = () => {
    const old = table;
    table = emptyTable(old.keys.length * 2);
    for (let slot = 0; slot < old.keys.length; slot += 1) {
      const key = old.keys[slot] ?? 0;
      if (key === 0) continue;
      const target = slotOf(table.keys, key);
      table.keys[target] = key;
      table.firstAccept[target] = old.firstAccept[slot] ?? 0;
      table.receipts[target] = old.receipts[slot] ?? 0;
    }
  };

  return {
    note({ lid, user }, accept, received) {
      if (used * 2 >= table.keys.length) grow();
      const key = lid * USERS + user;
      const slot = slotOf(table.keys, key);
      if (table.keys[slot] === 0) {
        table.keys[slot] = key;
        table.firstAccept[slot] = accept;
        used += 1;
      }
      if (received) table.receipts[slot] = (table.receipts[slot] ?? 0) + 1;
      return table.firstAccept[slot] ?? accept;
    },
    forEach(visit) {
      table.keys.forEach((key, slot) => {
        if (key !== 0) visit(Math.floor(key / USERS), key % USERS, table.receipts[slot] ?? 0);
      });
    },
  };
}

function emptyTable(capacity: number) {
  return {
    keys: new Float64Array(capacity),
    firstAccept: new Uint32Array(capacity),
    receipts: new Uint32Array(capacity),
  };
}

/** The slot that holds the key, or the free one where it belongs. The capacity is a power of two. */
function slotOf(keys: Float64Array, key: number): number {
  const mask = keys.length - 1;
  const mixed = Math.imul(key % 4_294_967_296, 0x9e3779b1) ^ Math.imul(Math.floor(key / 4_294_967_296) + 1, 0x85ebca6b);
  let slot = (mixed ^ (mixed >>> 15)) & mask;
  while (keys[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & mask;
  return slot;
}
