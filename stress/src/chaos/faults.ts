import type { FaultRule } from '@dueline/line-simulator';
import type { Random } from '../random.ts';

/** The faults by the numbers that LINE's contract gives them. */
export const FAULTS = [
  ...['F01', 'F02', 'F03', 'F03b', 'F04', 'F05', 'F06', 'F07', 'F08', 'F09', 'F10', 'F11', 'F12', 'F13', 'F14', 'F15'],
  ...['F16', 'F17', 'F18', 'F19', 'F20', 'F21', 'F22', 'F23', 'F24', 'F25', 'F26', 'F27'],
] as const;
export type FaultId = (typeof FAULTS)[number];

/** How long an attempt may take in this test, and how much longer its key rests when nobody wrote its outcome; milliseconds. */
export const ATTEMPT = { deadlineMs: 1_000, settleMs: 2_000 };
/** Longest that LINE keeps a request to itself: less than it rests. */
const LATEST_MS = 1_800;

type Draft = Pick<FaultRule, 'effect' | 'phase' | 'match' | 'burst'>;

const either = (random: Random): 'beforeAccept' | 'afterAccept' => random.pick(['beforeAccept', 'afterAccept']);
const outage = (random: Random) => random.pick([500, 502, 503, 504]);
const shut = (random: Random) => random.int(500, 1_500);

/** What each fault is here. Pure but for what it draws. */
const DRAFTS: Readonly<Record<FaultId, (random: Random, poisoned: readonly string[]) => Draft[]>> = {
  F01: (random) => [
    { phase: either(random), effect: { type: 'latency', dist: { type: 'uniform', minMs: 0, maxMs: LATEST_MS } } },
  ],
  F02: (random) => [{ effect: { type: 'rateLimit' }, burst: { count: random.int(3, 20) } }],
  F03: () => [{ effect: { type: 'monthlyLimit' } }],
  F03b: () => [{ effect: { type: 'reservation', ms: 2_000 } }],
  F04: () => [{ effect: { type: 'sameUser' }, match: { endpoint: 'push' } }],
  F05: (random) => [{ phase: 'beforeAccept', effect: { type: 'status', status: outage(random) } }],
  F06: (random) => [{ phase: 'afterAccept', effect: { type: 'status', status: outage(random) } }],
  F07: (random) => [{ phase: either(random), effect: { type: 'html' } }],
  F08: () => [{ phase: 'beforeAccept', effect: { type: 'reset' } }],
  F09: () => [{ phase: 'afterAccept', effect: { type: 'reset' } }],
  F10: () => [{ phase: 'afterAccept', effect: { type: 'fin' } }],
  F11: (random) => [{ effect: { type: 'truncate', part: random.pick(['head', 'body']) }, match: { keyAttempt: [1] } }],
  F12: (random) => [
    { effect: { type: 'truncate', part: random.pick(['head', 'body']) }, match: { keyAttempt: [2, 3, 4] } },
    { phase: 'afterAccept', effect: { type: 'reset' }, match: { keyAttempt: [1] } },
  ],
  F13: () => [{ phase: 'beforeAccept', effect: { type: 'hang' } }],
  F14: () => [{ phase: 'afterAccept', effect: { type: 'hang' } }],
  F15: (random) => [{ effect: { type: 'lateAccept', ms: random.int(ATTEMPT.deadlineMs + 100, LATEST_MS) } }],
  F16: () => [{ effect: { type: 'withoutDelivery' } }],
  F17: () => [{ effect: { type: 'withoutEffect' }, match: { endpoint: 'richmenu/bulk/link' } }],
  F18: () => [{ effect: { type: 'garbage' } }],
  F19: (random) => [{ phase: either(random), effect: { type: 'conflict' } }],
  F20: () => [{ effect: { type: 'revokeToken' } }],
  F21: () => [{ phase: 'beforeAccept', effect: { type: 'status', status: 403 } }],
  F22: (_random, poisoned) => [{ effect: { type: 'poison', users: [...poisoned] } }],
  F23: (random) => [
    { phase: 'beforeAccept', effect: { type: 'status', status: 400 }, burst: { count: random.int(5, 20) } },
  ],
  F24: (random) => [{ phase: either(random), effect: { type: 'redirect', status: random.pick([302, 307]) } }],
  F25: (random) => [
    {
      phase: 'afterAccept',
      effect: {
        type: 'drip',
        part: random.pick(['head', 'body']),
        bytes: random.int(8, 40),
        everyMs: random.int(20, 60),
      },
    },
  ],
  F26: (random) => [{ effect: { type: random.pick(['down', 'blackHole']), ms: shut(random) } }],
  F27: () => [{ effect: { type: 'closeIdle' } }],
};

/** Those that would shut LINE, and so hide all others, if they began again and again. */
const ONCE: ReadonlySet<FaultId> = new Set(['F26', 'F03b']);
/** Those that meet whoever is concerned, each time. */
const ALWAYS: ReadonlySet<FaultId> = new Set(['F22', 'F12']);

/** A fault as rules, whose ids begin with its number. @param tag Sets it apart from the same fault at another time. */
export function rulesOf(
  fault: FaultId,
  { random, poisoned, tag }: { random: Random; poisoned: readonly string[]; tag: string },
): FaultRule[] {
  const probability = ALWAYS.has(fault) ? 0 : random.pick([0.2, 0.5, 0.9]);
  return DRAFTS[fault](random, poisoned).map((draft, part) => ({
    ...draft,
    id: `${fault}.${tag}.${part}`,
    match: { ...draft.match, probability },
    max: ONCE.has(fault) ? 1 : 0,
  }));
}

/** While one of these is played a frozen client keeps its request with LINE for as long as it is frozen, under a key that others then use. */
export const HOLDS_REQUESTS: ReadonlySet<FaultId> = new Set(['F13', 'F14', 'F25']);

/** LINE takes nothing, and says so at once: half of its refusals leave the client in doubt, and half do not. */
export const DARKNESS: readonly FaultRule[] = [
  { id: 'F08.dark', match: { probability: 0.5 }, phase: 'beforeAccept', effect: { type: 'reset' } },
  { id: 'F02.dark', effect: { type: 'rateLimit' } },
];

/** The negative control: LINE forgets every key as soon as it is used again, so that whatever is repeated is doubled. */
export const AMNESIA: FaultRule = { id: 'F28', effect: { type: 'forgetKey' } };
