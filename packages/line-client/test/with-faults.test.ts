import { createSimulator, type FaultRule, nthUserId } from '@dueline/line-simulator';
import { afterEach, expect, test } from 'vitest';
import { createLineClient, type LineOutcome } from '../src/index.ts';

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

type Row = [name: string, rule: Omit<FaultRule, 'id'>, outcome: Partial<LineOutcome>, settled: LineOutcome['kind']];

const AMBIGUOUS = { kind: 'ambiguous' } as const;
const status = (code: number) => ({ type: 'status', status: code }) as const;
const before = (effect: FaultRule['effect']) => ({ phase: 'beforeAccept', effect }) as const;
const after = (effect: FaultRule['effect']) => ({ phase: 'afterAccept', effect }) as const;

/** What the first attempt proves, and what the second under the same key tells. */
const ROWS: Row[] = [
  ['a slow answer', after({ type: 'latency', ms: 20 }), { kind: 'accepted' }, 'already'],
  ['a rate limit', { effect: { type: 'rateLimit' } }, { kind: 'throttled', reason: 'rate' }, 'accepted'],
  ['the monthly limit', { effect: { type: 'monthlyLimit' } }, { kind: 'throttled', reason: 'monthly' }, 'throttled'],
  ['too many to one user', { effect: { type: 'sameUser' } }, { kind: 'throttled', reason: 'same_user' }, 'accepted'],
  ...[500, 502, 503, 504].flatMap((code): Row[] => [
    [`${code} before acceptance`, before(status(code)), AMBIGUOUS, 'accepted'],
    [`${code} after acceptance`, after(status(code)), AMBIGUOUS, 'already'],
  ]),
  ['HTML before acceptance', before({ type: 'html' }), AMBIGUOUS, 'accepted'],
  ['HTML after acceptance', after({ type: 'html' }), AMBIGUOUS, 'already'],
  ['a reset before acceptance', before({ type: 'reset' }), AMBIGUOUS, 'accepted'],
  ['a reset after acceptance', after({ type: 'reset' }), AMBIGUOUS, 'already'],
  ['a close before acceptance', before({ type: 'fin' }), AMBIGUOUS, 'accepted'],
  ['a close after acceptance', after({ type: 'fin' }), AMBIGUOUS, 'already'],
  ['a 200 that breaks off', { effect: { type: 'truncate' } }, AMBIGUOUS, 'already'],
  ['a head that breaks off', { effect: { type: 'truncate', part: 'head' } }, AMBIGUOUS, 'already'],
  ['a hang before acceptance', before({ type: 'hang' }), AMBIGUOUS, 'accepted'],
  ['a hang after acceptance', after({ type: 'hang' }), AMBIGUOUS, 'already'],
  ['a late acceptance', { effect: { type: 'lateAccept', ms: 1_000 } }, AMBIGUOUS, 'already'],
  ['200 without delivery', { effect: { type: 'withoutDelivery' } }, { kind: 'accepted' }, 'already'],
  ['garbage', { effect: { type: 'garbage' } }, AMBIGUOUS, 'already'],
  ['a bare 409 before acceptance', before({ type: 'conflict' }), AMBIGUOUS, 'accepted'],
  ['a bare 409 after acceptance', after({ type: 'conflict' }), AMBIGUOUS, 'already'],
  ['a revoked token', { effect: { type: 'revokeToken' } }, { kind: 'auth' }, 'auth'],
  ['403', { effect: status(403) }, { kind: 'refused', status: 403 }, 'accepted'],
  ['a poison user', { effect: { type: 'poison', users: [nthUserId('a', 0)] } }, { kind: 'refused' }, 'accepted'],
  ['a spurious 400', { effect: status(400) }, { kind: 'refused', status: 400 }, 'accepted'],
  ['302', { effect: { type: 'redirect' } }, AMBIGUOUS, 'accepted'],
  ['307', { effect: { type: 'redirect', status: 307 } }, AMBIGUOUS, 'accepted'],
  ['an endless head', { effect: { type: 'drip', everyMs: 1_000 } }, AMBIGUOUS, 'already'],
  ['an endless body', { effect: { type: 'drip', part: 'body', everyMs: 1_000 } }, AMBIGUOUS, 'already'],
];

async function start() {
  const simulator = await createSimulator({
    channels: [{ channelId: '1', channelAccessToken: 'token-1', users: [{ prefix: 'a', count: 3 }] }],
  });
  const newClient = (attemptTimeoutMs = 10_000) => {
    const client = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs });
    cleanups.push(client.close);
    return client;
  };
  cleanups.push(() => simulator.close());
  const push = (n: number) => ({
    channelAccessToken: 'token-1',
    retryKey: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    body: JSON.stringify({ to: nthUserId('a', 0), messages: [{ type: 'text', text: `[[lid:c:${n}:1]]` }] }),
  });
  return { simulator, newClient, push };
}

const SLOW: ReadonlySet<string> = new Set(['hang', 'lateAccept', 'drip']);

test.each(ROWS)('%s is told by its kind, and the same key tells the rest', { timeout: 30_000 }, async (...row) => {
  const [, rule, outcome, settled] = row;
  const { simulator, newClient, push } = await start();
  simulator.faults.set({ rules: [{ id: 'f', max: 1, ...rule }] });
  const client = newClient(SLOW.has(rule.effect.type) ? 400 : 10_000);
  expect(await client.push(push(1))).toMatchObject(outcome);
  await expect.poll(() => [...simulator.ledger.requests()][0]?.step, { timeout: 20_000 }).not.toBeNull();
  expect(await newClient().push(push(1))).toMatchObject({ kind: settled });
  expect([...simulator.ledger.violations()]).toEqual([]);
});

test('a listener that is shut was not reached; one that never reads is in doubt', async () => {
  const { simulator, newClient, push } = await start();
  await simulator.scenario.listener('down');
  expect(await newClient().push(push(1))).toMatchObject({ kind: 'not_reached' });
  await simulator.scenario.listener('blackHole');
  expect(await newClient(200).push(push(1))).toMatchObject({ kind: 'ambiguous' });
  await simulator.scenario.listener('up');
  expect(await newClient().push(push(1))).toMatchObject({ kind: 'accepted' });
});

test('an idle connection that is closed as the request arrives leaves it in doubt', async () => {
  const { simulator, newClient, push } = await start();
  simulator.faults.set({ rules: [{ id: 'f', max: 1, effect: { type: 'closeIdle' } }] });
  const client = newClient();
  const kinds: string[] = [];
  for (let n = 0; n < 20 && !kinds.includes('ambiguous'); n += 1) kinds.push((await client.push(push(n))).kind);
  expect(kinds.at(0)).toBe('accepted');
  expect(kinds.at(-1)).toBe('ambiguous');
  expect(await client.push(push(kinds.length - 1))).toMatchObject({ kind: 'accepted' });
});
