import type { AttemptResult, StartedMenu, StartedSend } from '@dueline/deliveries';
import type { LineOutcome } from '@dueline/line-client';
import { expect, test, vi } from 'vitest';
import type { RefusalVerdict } from '../src/blame.ts';
import { createGuard, type GuardDeps, type MenuAttempt, type SentAttempt } from '../src/send-guard.ts';
import { TokenRefusedError } from '../src/tokens.ts';

const MINUTE_MS = 60_000;
const TEN_MINUTES_MS = 600_000;
const delivery: StartedSend = {
  ...{ organizationId: '1', lineOaId: '2', id: '3', fence: '1', endpoint: 'push', campaignId: null, attemptNo: 1 },
  ...{ verdict: 'clean', refusals: 0, splitPath: '', retryKey: 'k', body: '{}', intact: true, traceparent: null },
};

interface World {
  readonly next?: 'again' | 'refused';
  readonly refusal?: RefusalVerdict;
  readonly throttled?: Pick<AttemptResult, 'holdMs' | 'whilePausedMs'>;
  readonly isBroken?: boolean;
}

function worldOf(world: World) {
  const paused: string[] = [];
  const broken = () => Promise.reject(new Error('the database is away'));
  const deps: GuardDeps = {
    log: { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() },
    tokens: { get: vi.fn(), worked: vi.fn(), rejected: async () => world.next ?? 'again' },
    pauses: {
      pause: async (_tenant, { reasonCode }) => void paused.push(reasonCode),
      unpause: vi.fn(),
    },
    throttles: { judge: async () => world.throttled ?? {}, accepted: async () => undefined },
    breaker: { admit: async (_lineOaId, tickets) => tickets, accepted: async () => undefined },
    refusals: { judge: world.isBroken ? broken : async () => world.refusal ?? { refusedFor: 'recipients' as const } },
  };
  return { guard: createGuard(deps), paused };
}

async function judge(attempt: SentAttempt, verdict: StartedSend['verdict'], world: World) {
  const { guard, paused } = worldOf(world);
  const { result } = attempt;
  const judged = await guard.judge({ ...delivery, verdict }, attempt);
  return { paused, ...Object.fromEntries(Object.entries(judged).filter(([name]) => !(name in result))) };
}

type NoSuccess = Exclude<LineOutcome, { kind: 'accepted' | 'already' }>;
const asked = <Answer extends LineOutcome>(answer: Answer) => ({
  result: { outcome: answer.kind },
  asked: { answer, token: 't' },
});
const refused = (status: number) => asked<NoSuccess>({ kind: 'refused', status, detail: String(status) });
const auth = asked<NoSuccess>({ kind: 'auth', status: 401, detail: '401' });
const throttled = asked<NoSuccess>({ kind: 'throttled', status: 429, reason: 'monthly', detail: '429' });
const noToken = (tokenError: Error) => ({ result: { outcome: 'auth' as const }, tokenError });
const nothing = { paused: [] };

type Expected = { paused: string[]; holdMs?: number; whilePausedMs?: number; refusedFor?: string };
const ROWS: [what: string, SentAttempt, World, clean: Expected, ambiguous: Expected][] = [
  ['accepted', asked({ kind: 'accepted', requestId: 'r', sentMessageIds: [] }), {}, nothing, nothing],
  [
    'accepted before',
    asked({ kind: 'already', requestId: 'r', acceptedRequestId: 'a', sentMessageIds: [] }),
    {},
    nothing,
    nothing,
  ],
  ['not reached', asked({ kind: 'not_reached', detail: '' }), {}, nothing, nothing],
  ['in doubt', asked({ kind: 'ambiguous', detail: '' }), {}, nothing, nothing],
  ['401, another token', auth, { next: 'again' }, nothing, nothing],
  [
    '401, no other token',
    auth,
    { next: 'refused' },
    { paused: ['token_refused'], holdMs: MINUTE_MS },
    { paused: ['token_refused'], holdMs: MINUTE_MS, whilePausedMs: TEN_MINUTES_MS },
  ],
  [
    'no token for its credentials',
    noToken(new TokenRefusedError('no')),
    {},
    { paused: ['token_refused'], holdMs: MINUTE_MS },
    { paused: ['token_refused'], holdMs: MINUTE_MS, whilePausedMs: TEN_MINUTES_MS },
  ],
  ['no token now', noToken(new Error('away')), {}, nothing, nothing],
  ['429 at the usual pace', throttled, {}, nothing, nothing],
  [
    '429 at a pace of its own',
    throttled,
    { throttled: { holdMs: 5, whilePausedMs: 9 } },
    { paused: [], holdMs: 5, whilePausedMs: 9 },
    { paused: [], holdMs: 5, whilePausedMs: 9 },
  ],
  [
    '403',
    refused(403),
    {},
    { paused: ['forbidden'], holdMs: MINUTE_MS },
    { paused: ['forbidden'], holdMs: MINUTE_MS, whilePausedMs: TEN_MINUTES_MS },
  ],
  [
    '400, bad content',
    refused(400),
    { refusal: { refusedFor: 'content' } },
    { paused: [], refusedFor: 'content' },
    nothing,
  ],
  ['400, a recipient', refused(400), {}, { paused: [], refusedFor: 'recipients' }, nothing],
  ['400, nobody can tell', refused(400), { refusal: { holdMs: 7 } }, { paused: [], holdMs: 7 }, nothing],
  ['400 that cannot be judged', refused(400), { isBroken: true }, { paused: [], holdMs: MINUTE_MS }, nothing],
  ['404', refused(404), { isBroken: true }, nothing, nothing],
  ['413', refused(413), { isBroken: true }, nothing, nothing],
  ['a body that was not sent', { result: { outcome: 'refused' } }, { isBroken: true }, nothing, nothing],
];

test.for(ROWS)(
  '%s: what is paused, and how a clean delivery and one in doubt go on',
  async ([, attempt, world, ...steps]) => {
    const [clean, ambiguous] = steps;
    expect(await judge(attempt, 'clean', world)).toEqual(clean);
    expect(await judge(attempt, 'ambiguous', world)).toEqual(ambiguous);
  },
);

const menu: StartedMenu = { ...delivery, endpoint: 'richmenu_link', toVerify: null, overtakable: false };
const OF_MENUS: [what: string, MenuAttempt, World, Expected][] = [
  [
    'done',
    { result: { outcome: 'accepted' }, asked: { answer: { kind: 'done', status: 200, requestId: 'r' }, token: 't' } },
    {},
    nothing,
  ],
  ['401, another token', auth, { next: 'again' }, nothing],
  ['401, no other token', auth, { next: 'refused' }, { paused: ['token_refused'], holdMs: MINUTE_MS }],
  [
    'no token for its credentials',
    noToken(new TokenRefusedError('no')),
    {},
    { paused: ['token_refused'], holdMs: MINUTE_MS },
  ],
  ['403', refused(403), {}, { paused: ['forbidden'], holdMs: MINUTE_MS }],
  ['400, which validation knows nothing of', refused(400), { isBroken: true }, nothing],
  ['429', throttled, { throttled: { holdMs: 5 } }, nothing],
];

test.for(OF_MENUS)('a question about a menu, %s: what it says of the account', async ([, attempt, world, expected]) => {
  const { guard, paused } = worldOf(world);
  const { holdMs } = await guard.judgeMenu(menu, attempt);
  expect({ paused, ...(holdMs !== undefined && { holdMs }) }).toEqual(expected);
});
