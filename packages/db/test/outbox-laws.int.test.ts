import { inTransaction, sql } from '@dueline/db';
import { announceEvents, takeEvents } from '@dueline/db/changes';
import { insertTenant, insertUsers, lineUserId, testDb } from '@dueline/db/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const names = fc.oneof(
  fc.constantFrom('a', 'b', '__proto__', 'constructor', '', `'"\\{}`),
  fc.string({ unit: 'grapheme' }),
);
const storable = (text: string) => text.isWellFormed() && !text.includes('\u0000');
const texts = fc.string({ unit: 'grapheme', maxLength: 20 }).filter(storable);
const values = fc.oneof(
  ...[texts, fc.boolean(), fc.constant(null), fc.double({ noNaN: true, noDefaultInfinity: true })],
  ...[
    fc.array(texts, { maxLength: 3 }),
    fc.dictionary(texts, fc.integer(), { maxKeys: 2 }),
    fc.constant('長'.repeat(4_097)),
  ],
);
/** Attributes as JSON text, built by hand so that __proto__ is a key like any other. */
const attributes = fc
  .array(fc.tuple(names.filter(storable), values), { maxLength: 6 })
  .map(
    (entries) =>
      `{${[...new Map(entries)].map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(', ')}}`,
  );

/** What JSON carries, with the two zeros as one and large values as null, as the feed has it. */
const carried = (value: unknown): unknown => (JSON.stringify(value).length > 4_096 ? null : value);

function expectedChanges(before: Map<string, unknown>, after: Map<string, unknown>) {
  const changes = new Map<string, unknown>();
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    if (before.has(name) === after.has(name) && JSON.stringify(before.get(name)) === JSON.stringify(after.get(name)))
      continue;
    changes.set(name, {
      ...(before.has(name) ? { from: carried(before.get(name)) } : {}),
      ...(after.has(name) ? { to: carried(after.get(name)) } : {}),
    });
  }
  return changes;
}

const parse = (json: string) => new Map<string, unknown>(Object.entries(JSON.parse(json)));
const sorted = (changes: ReadonlyMap<string, unknown>) =>
  [...changes].sort(([left], [right]) => (left < right ? -1 : 1));

test('whatever attributes a table accepts, the feed tells exactly what changed, and no writer fails', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  const count = 300;
  await insertUsers(own.db, tenant, count);
  const pairs = fc.sample(fc.tuple(attributes, attributes), count);
  for (const side of [0, 1] as const) {
    await own.db.$client.query('truncate event_outbox');
    await own.db.$client.query(
      `update line_user set attributes = given.attributes
         from unnest($1::text[], $2::jsonb[]) as given (user_id, attributes) where line_user.user_id = given.user_id`,
      [pairs.map((_, at) => lineUserId(at + 1)), pairs.map((pair) => pair[side])],
    );
  }
  const tickets = await announceEvents(own.db, { limit: 1_000, leaseSeconds: 60, maxPublished: 1_000 });
  const events = await inTransaction(own.db, (tx) => takeEvents(tx, tickets));
  const told = new Map(
    events.map((event) => [event.userId, event.topic === 'attribute_changed' ? sorted(event.changed) : event.topic]),
  );
  for (const [at, [before, after]] of pairs.entries()) {
    const changes = sorted(expectedChanges(parse(before), parse(after)));
    expect([before, after, told.get(lineUserId(at + 1)) ?? []]).toEqual([before, after, changes]);
  }
  const { rows } = await inTransaction(own.db, (tx) => tx.execute(sql`select count(*)::int as n from event_outbox`));
  expect(rows).toEqual([{ n: 0 }]);
});
