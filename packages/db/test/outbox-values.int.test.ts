import type { Tenant } from '@dueline/contracts';
import { insertTenant, insertUsers, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventsOf, setAttributes as set } from './outbox-support.ts';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
});
afterEach(async () => {
  await shared.db.$client.query('truncate event_outbox, attribute_change');
});
afterAll(() => shared[Symbol.asyncDispose]());

const query = (text: string, values: unknown[] = []) => shared.db.$client.query(text, values);

const events = () => eventsOf(shared.db, tenant);
const setAttributes = (attributes: unknown, user?: number) => set(shared.db, tenant, attributes, user);

const HUGE = 'x'.repeat(1_000_000);
const LONG_THAI = 'ก'.repeat(2_667);
const VALUES: { name: string; before: string; after: string; changed: unknown }[] = [
  { name: 'a removed key', before: '{"a": 1, "b": 2}', after: '{"b": 2}', changed: { a: { from: 1 } } },
  {
    name: 'JSON null beside absent',
    before: '{"a": null}',
    after: '{"b": null}',
    changed: { a: { from: null }, b: { to: null } },
  },
  { name: 'null to a value', before: '{"a": null}', after: '{"a": 0}', changed: { a: { from: null, to: 0 } } },
  { name: 'emoji', before: '{"a": "🎉"}', after: '{"a": "👨‍👩‍👧"}', changed: { a: { from: '🎉', to: '👨‍👩‍👧' } } },
  {
    name: 'Thai and Japanese',
    before: '{"ชื่อ": "สวัสดี"}',
    after: '{"ชื่อ": "こんにちは"}',
    changed: { ชื่อ: { from: 'สวัสดี', to: 'こんにちは' } },
  },
  {
    name: 'nested objects',
    before: '{"a": {"b": [1]}}',
    after: '{"a": {"b": [1, 2]}}',
    changed: { a: { from: { b: [1] }, to: { b: [1, 2] } } },
  },
  { name: 'a key with quotes', before: '{}', after: `{"it's \\"so\\"": 1}`, changed: { 'it\'s "so"': { to: 1 } } },
  { name: 'an empty key', before: '{}', after: '{"": 1}', changed: { '': { to: 1 } } },
  {
    name: 'a value of a megabyte, which travels as null',
    before: '{"a": 1}',
    after: `{"a": "${HUGE}"}`,
    changed: { a: { from: 1, to: null } },
  },
  {
    name: '2,667 letters of 8,001 bytes, which no notification holds',
    before: '{}',
    after: `{"a": "${LONG_THAI}"}`,
    changed: { a: { to: LONG_THAI } },
  },
  {
    name: 'text and number of the same digits',
    before: '{"a": "1"}',
    after: '{"a": 1}',
    changed: { a: { from: '1', to: 1 } },
  },
];

test.for(VALUES)('a change carries $name [SEM-089, SEM-090]', async ({ before, after, changed }) => {
  await insertUsers(shared.db, tenant, 1);
  await setAttributes(before);
  await query('truncate event_outbox');
  await setAttributes(after);
  expect((await events()).map((event) => event.changed)).toEqual([changed]);
});

test('an attribute named __proto__ is a key like any other', async () => {
  await insertUsers(shared.db, tenant, 1);
  await setAttributes('{"__proto__": {"polluted": true}}');
  const [event] = await events();
  expect(Object.keys(event?.changed ?? {})).toEqual(['__proto__']);
});

test('1.0 after 1 is no change', async () => {
  await insertUsers(shared.db, tenant, 1);
  await setAttributes('{"a": 1}');
  await setAttributes('{"a": 1.0}');
  expect(await events()).toHaveLength(1);
});
