import { retryKey } from '@dueline/deliveries';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { endOfRefusal, type RefusalEnd, splitPeople } from '../src/split.ts';

const people = (count: number) => Array.from({ length: count }, (_, n) => `U${n.toString(16).padStart(32, '0')}`);
const multicast = (count: number) => ({
  endpoint: 'multicast' as const,
  body: JSON.stringify({ to: people(count), messages: [] }),
});
const PUSH = { endpoint: 'push' as const, body: JSON.stringify({ to: people(1)[0], messages: [] }) };
const BROADCAST = { endpoint: 'broadcast' as const, body: '{"messages":[]}' };

type Row = [Parameters<typeof endOfRefusal>[0], Parameters<typeof endOfRefusal>[1], RefusalEnd['reasonCode']];
const ENDS: Row[] = [
  [multicast(2), { httpStatus: 400 }, 'split'],
  [multicast(2), { httpStatus: 400, refusedFor: 'recipients' }, 'split'],
  [multicast(2), { httpStatus: 400, refusedFor: 'content' }, 'content'],
  [multicast(2), { httpStatus: 413 }, 'split'],
  [multicast(2), { httpStatus: 403 }, 'refused'],
  [multicast(2), {}, 'refused'],
  [multicast(1), { httpStatus: 400 }, 'invalid_recipient'],
  [multicast(1), { httpStatus: 413 }, 'too_large'],
  [PUSH, { httpStatus: 400 }, 'invalid_recipient'],
  [PUSH, { httpStatus: 400, refusedFor: 'content' }, 'content'],
  [PUSH, { httpStatus: 413 }, 'too_large'],
  [PUSH, { httpStatus: 404 }, 'refused'],
  [BROADCAST, { httpStatus: 400 }, 'refused'],
  [BROADCAST, { httpStatus: 413 }, 'refused'],
];

test.for(ENDS)('a clean refusal of %j with %j ends as %s', ([request, result, reasonCode]) => {
  expect(endOfRefusal(request, result).reasonCode).toBe(reasonCode);
});

const SPLITS: readonly (readonly [detail: string | undefined, count: number, sizes: readonly [number, number]])[] = [
  ['400 The property, to[1], in the request body is invalid (line: -, column: -)', 500, [1, 499]],
  ['400 The request body has 2 error(s); to[0]: no; to[4]: no', 10, [2, 8]],
  ['400 The property, to[500], in the request body is invalid', 500, [250, 250]], // there is no such place
  ['400 to[0] to[1]', 2, [1, 1]], // everybody is nobody in particular
  ['400 Failed to send messages', 5, [3, 2]],
  [undefined, 2, [1, 1]],
];

test.for(SPLITS)('%s splits %i people into %j', ([detail, count, sizes]) => {
  const parts = splitPeople(people(count), detail);
  expect(parts.map(({ length }) => length)).toEqual(sizes);
  expect(parts.flat().sort()).toEqual(people(count));
});

interface Sent {
  readonly reached: string[];
  readonly invalid: string[];
  readonly keys: string[];
}

/** Sends as the ledger does, to a LINE that refuses whatever names a poison user and says who it is when it likes. */
function sendAll(to: string[], poison: ReadonlySet<string>, hints: readonly boolean[]): Sent {
  const sent: Sent = { reached: [], invalid: [], keys: [] };
  const send = (part: string[], splitPath: string): void => {
    const named = { channelId: '1', kind: 'campaign', logicalId: '7', epoch: 1, endpoint: 'multicast' } as const;
    const hinted = hints[sent.keys.length % hints.length] ?? false;
    sent.keys.push(retryKey({ ...named, ordinal: 0, splitPath }));
    const place = part.findIndex((user) => poison.has(user));
    if (place < 0) {
      sent.reached.push(...part);
      return;
    }
    const end = endOfRefusal({ endpoint: 'multicast', body: JSON.stringify({ to: part }) }, { httpStatus: 400 });
    if (end.to === 'split')
      splitPeople(part, hinted ? `400 The property, to[${place}], in the request body is invalid` : '400').forEach(
        (half, branch) => {
          send(half, `${splitPath}${branch}`);
        },
      );
    else sent.invalid.push(...part);
  };
  send(to, '');
  return sent;
}

test('whoever among 500 is poison, and whether LINE names them or not: each other person is reached once, each of them found, no key is used twice [T14]', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.uniqueArray(fc.nat(499), { maxLength: 40 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 10 }),
      (count, places, hints) => {
        const to = people(count);
        const poison = new Set(places.flatMap((place) => to[place] ?? []));
        const { reached, invalid, keys } = sendAll(to, poison, hints);
        expect(reached.sort()).toEqual(to.filter((user) => !poison.has(user)));
        expect(invalid.sort()).toEqual([...poison].sort());
        expect(new Set(keys).size).toBe(keys.length);
      },
    ),
    { numRuns: 300 },
  );
});

test('one poison user among 500 costs two more requests where LINE says who it is, and at most 2·log2(500)+2 where not [T14]', () => {
  const to = people(500);
  for (const [place, user] of to.entries()) {
    expect(sendAll(to, new Set([user]), [true]).keys.length - 1, String(place)).toBe(2);
    expect(sendAll(to, new Set([user]), [false]).keys.length - 1).toBeLessThanOrEqual(2 * Math.log2(500) + 2);
  }
});
