import { createHash } from 'node:crypto';
import { columnOf, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { create } from './support.ts';

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
});
afterAll(() => own[Symbol.asyncDispose]());

const TEXTS: readonly [name: string, text: string][] = [
  ['plain', 'hello'],
  ['Thai and emoji', 'สวัสดี 👩‍👩‍👧 𠮷'],
  ['what JSON escapes', '"\\/\b\f\n\r\t{"messages":[]}'],
  ['a NUL', 'a\u0000b'],
  ['half a surrogate pair', 'a\ud83d'],
  ['numbers that JSON would write otherwise', '1.0 1e2 12345678901234567890'],
  ['as long as LINE allows', 'ร'.repeat(5_000)],
];

// A retry must be the identical request, so what is stored must be what was meant, to the byte.
test('a request is stored as JSON wrote it, with its own hash, in one batch with others of other and of the same content', async () => {
  const tenant = await insertTenant(own.db);
  const sends = [...TEXTS, ...TEXTS].map(([, text], n) =>
    deliveryToCreate(tenant, {
      logicalId: String(n),
      userId: lineUserId(n),
      request: { actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text }] } },
    }),
  );
  await create(own.db, sends);
  const bodies = await columnOf(own.db, 'select body from delivery order by logical_id::int');
  const hashes = await columnOf(own.db, 'select body_sha256 from delivery order by logical_id::int');
  const expected = sends.map(({ userId, request }) =>
    JSON.stringify({ to: userId, messages: request.actionConfig.messages }),
  );
  expect(bodies).toEqual(expected);
  expect(hashes).toEqual(expected.map((body) => createHash('sha256').update(body).digest('hex')));
});
