import { describe, expect, test } from 'vitest';
import type { FaultRule } from '../src/index.ts';
import { attempt, only, rowsOf, type Sight } from './fault-support.ts';
import { codes, start, user } from './support.ts';

type Effect = FaultRule['effect'];
type Row = [id: string, effect: Effect, phase: FaultRule['phase'], seen: object, timeoutMs?: number];

const RESET: Sight = { failure: 'ECONNRESET' };
const CLOSED: Sight = { failure: 'UND_ERR_SOCKET' };
const GAVE_UP: Sight = { failure: 'TimeoutError' };
const message = (status: number, part: string) => ({ status, text: expect.stringContaining(part) });
const HTML = {
  text: expect.stringMatching(/^<html>/),
  headers: expect.not.objectContaining({ 'x-line-request-id': expect.anything() }),
};
const SERVER_ERRORS = [500, 502, 503, 504];

/** The request is not processed: the key stays free, and the same request is accepted afterwards. */
const BEFORE: Row[] = [
  ['F02 rate limit', { type: 'rateLimit' }, undefined, message(429, 'The API rate limit has been exceeded')],
  ['F04 same user', { type: 'sameUser' }, undefined, message(429, 'same user')],
  ...SERVER_ERRORS.map((status): Row => [`F05 ${status}`, { type: 'status', status }, 'beforeAccept', { status }]),
  ['F05 500 before the token is read', { type: 'status', status: 500 }, 'beforeAuth', { status: 500 }],
  ['F07 HTML 503', { type: 'html' }, 'beforeAccept', { status: 503, ...HTML }],
  ['F08 reset', { type: 'reset' }, 'beforeAccept', RESET],
  ['F08 reset before the token is read', { type: 'reset' }, 'beforeAuth', RESET],
  ['F10 closed', { type: 'fin' }, 'beforeAccept', CLOSED],
  ['F13 hang', { type: 'hang' }, 'beforeAccept', GAVE_UP, 300],
  ['F19 bare 409', { type: 'conflict' }, 'beforeAccept', { status: 409 }],
  ['F21 403', { type: 'status', status: 403 }, undefined, { status: 403 }],
  [
    'F22 poison',
    { type: 'poison', users: [user(0)] },
    undefined,
    message(400, 'The property, to, in the request body'),
  ],
  ['F23 spurious 400', { type: 'status', status: 400 }, undefined, message(400, 'The request body has 1 error(s)')],
  [
    'F24 302',
    { type: 'redirect' },
    'beforeAccept',
    { status: 302, headers: expect.objectContaining({ location: '/redirected' }) },
  ],
  ['F24 307', { type: 'redirect', status: 307 }, 'beforeAuth', { status: 307 }],
];

/** The request is accepted and its key stored, whatever the client sees. */
const AFTER: Row[] = [
  ['F01 latency before accept', { type: 'latency', ms: 20 }, 'beforeAccept', { status: 200 }],
  [
    'F01 latency after accept',
    { type: 'latency', dist: { type: 'uniform', minMs: 1, maxMs: 9 } },
    'afterAccept',
    { status: 200 },
  ],
  ...SERVER_ERRORS.map((status): Row => [`F06 ${status}`, { type: 'status', status }, 'afterAccept', { status }]),
  ['F07 HTML 502', { type: 'html', status: 502 }, 'afterAccept', { status: 502, ...HTML }],
  ['F09 reset', { type: 'reset' }, 'afterAccept', RESET],
  ['F10 closed', { type: 'fin' }, 'afterAccept', CLOSED],
  ['F11 truncated 200', { type: 'truncate' }, undefined, { status: 200, cut: expect.any(String) }],
  ['F11 truncated head', { type: 'truncate', part: 'head' }, undefined, { failure: expect.any(String) }],
  ['F14 hang', { type: 'hang' }, 'afterAccept', GAVE_UP, 300],
  ['F15 late accept, client waits', { type: 'lateAccept', ms: 20 }, undefined, { status: 200 }],
  ['F18 garbage', { type: 'garbage' }, undefined, { status: 200, text: '{"sentMess' }],
  [
    'F19 bare 409',
    { type: 'conflict' },
    'afterAccept',
    { status: 409, headers: expect.not.objectContaining({ 'x-line-accepted-request-id': expect.anything() }) },
  ],
  ['F24 302', { type: 'redirect' }, 'afterAccept', { status: 302 }],
  ['F25 slow head', { type: 'drip', bytes: 64, everyMs: 1 }, undefined, { status: 200 }],
  ['F25 slow body', { type: 'drip', part: 'body', bytes: 16, everyMs: 1 }, undefined, { status: 200 }],
];

async function firstAttempt(row: Row) {
  const [, effect, phase, seen, timeoutMs] = row;
  const simulator = await start();
  simulator.faults.set(only({ match: { keyAttempt: [1] }, effect, ...(phase !== undefined && { phase }) }));
  expect(await attempt(simulator, timeoutMs === undefined ? {} : { timeoutMs })).toMatchObject(seen);
  // A client that gave up is known to be gone a moment later than to itself.
  await expect.poll(() => rowsOf(simulator).requests[0]?.step).not.toBeNull();
  const [request] = rowsOf(simulator).requests;
  expect(request).toMatchObject({ faultId: 'f', keyAttempt: 1, clientAborted: effect.type === 'hang' });
  return { simulator, request };
}

const retry = async (simulator: Awaited<ReturnType<typeof start>>) => {
  const again = await attempt(simulator);
  expect(rowsOf(simulator).receipts).toHaveLength(1);
  expect(rowsOf(simulator).requests[1]).toMatchObject({ faultId: null, keyAttempt: 2 });
  expect(simulator.faults.hits().rules).toMatchObject([{ id: 'f', hits: 1 }]);
  expect(codes(simulator)).toEqual([]);
  return again;
};

describe('a request that a fault stops before it is accepted', () => {
  test.each(BEFORE)(
    '%s: reaches nobody, and its key is free for the next attempt',
    { timeout: 30_000 },
    async (...row) => {
      const { simulator, request } = await firstAttempt(row);
      expect(request?.phaseReached).toBe(row[2] ?? 'beforeAccept');
      expect(rowsOf(simulator)).toMatchObject({ accepts: [], receipts: [] });
      expect(await retry(simulator)).toMatchObject({ status: 200 });
    },
  );
});

describe('a request that a fault meets when it is accepted', () => {
  test.each(AFTER)('%s: has reached its user, and the next attempt gets 409', { timeout: 30_000 }, async (...row) => {
    const { simulator, request } = await firstAttempt(row);
    expect(request?.phaseReached).toBe('afterAccept');
    expect(rowsOf(simulator)).toMatchObject({
      accepts: [{ dropped: false, delivered: 1 }],
      receipts: [{ user: user(0) }],
    });
    expect(await retry(simulator)).toMatchObject({
      status: 409,
      headers: { 'x-line-accepted-request-id': request?.requestId },
    });
  });
});

test('a fault after acceptance leaves a request alone that is refused, and is kept for the next', async () => {
  const simulator = await start();
  simulator.faults.set(only({ max: 1, phase: 'afterAccept', effect: { type: 'reset' } }));
  expect(await attempt(simulator, { token: 'unknown' })).toMatchObject({ status: 401 });
  expect(simulator.faults.hits().rules).toMatchObject([{ seen: 1, hits: 0 }]);
  expect(await attempt(simulator)).toMatchObject(RESET);
  expect(await attempt(simulator)).toMatchObject({ status: 409 });
});

test('F12: a 409 that breaks off says nothing, until a whole one comes', async () => {
  const simulator = await start();
  simulator.faults.set({
    rules: [
      { id: 'lost', match: { keyAttempt: [1] }, phase: 'afterAccept', effect: { type: 'reset' } },
      { id: 'cut', match: { keyAttempt: [2, 3] }, effect: { type: 'truncate' } },
    ],
  });
  expect(await attempt(simulator)).toMatchObject(RESET);
  expect(await attempt(simulator)).toMatchObject({ status: 409, cut: expect.any(String) });
  expect(await attempt(simulator)).toMatchObject({ status: 409, cut: expect.any(String) });
  expect(await attempt(simulator)).toMatchObject({ status: 409, text: expect.stringContaining('sentMessages') });
  expect(rowsOf(simulator).receipts).toHaveLength(1);
});
