import type { PausedAccount } from '@dueline/accounts';
import { expect, test } from 'vitest';
import { type Throttled, throttleStep } from '../src/judge-throttle.ts';
import { shortageIsOver } from '../src/look-at-paused.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const RATE = { pause: undefined };
const room = { value: 1_000, used: 400 };
const full = { value: 1_000, used: 1_000 };
const tooFew = { value: 1_000, used: 501 };

type Row = [what: string, throttled: Partial<Throttled>, step: ReturnType<typeof throttleStep>];
const doubt = { verdict: 'ambiguous' } as const;
const ROWS: Row[] = [
  ['the rate', { reason: 'rate' }, RATE],
  ['the rate for hours', { reason: 'rate', seconds: 9_999 }, RATE],
  ['one user', { reason: 'same_user', seconds: 9_999 }, RATE],
  ['the rate, in doubt', { reason: 'rate', ...doubt }, RATE],
  ['the month, used up', { quota: full }, { pause: 'monthly_limit', holdMs: MINUTE_MS }],
  [
    'the month, used up, in doubt',
    { quota: full, ...doubt },
    { pause: 'monthly_limit', holdMs: MINUTE_MS, whilePausedMs: HOUR_MS },
  ],
  ['the month, no room for so many', { quota: tooFew }, { pause: 'monthly_limit', holdMs: MINUTE_MS }],
  ['the month, with room', { quota: room }, { pause: undefined, holdMs: MINUTE_MS }],
  [
    'the month, with room, in doubt',
    { quota: room, ...doubt },
    { pause: undefined, holdMs: MINUTE_MS, whilePausedMs: HOUR_MS },
  ],
  ['the month, with room for 29 minutes', { quota: room, seconds: 1_799 }, { pause: undefined, holdMs: MINUTE_MS }],
  ['the month, with room for 30 minutes', { quota: room, seconds: 1_800 }, { pause: 'held_back', holdMs: MINUTE_MS }],
  ['the month, without a limit', { quota: { value: null, used: 9 } }, { pause: undefined, holdMs: MINUTE_MS }],
  ['the month, untold', { quota: undefined }, { pause: undefined, holdMs: MINUTE_MS }],
  ['the month, untold for 30 minutes', { quota: undefined, seconds: 1_800 }, { pause: 'held_back', holdMs: MINUTE_MS }],
  ['an unknown text', { reason: 'unknown', quota: full }, RATE],
  ['an unknown text, in doubt', { reason: 'unknown', ...doubt }, RATE],
  ['an unknown text for 14 minutes', { reason: 'unknown', seconds: 899 }, RATE],
  [
    'an unknown text for 15, used up',
    { reason: 'unknown', seconds: 900, quota: full },
    { pause: 'monthly_limit', holdMs: MINUTE_MS },
  ],
  [
    'an unknown text for 15, with room, in doubt',
    { reason: 'unknown', seconds: 900, quota: room, ...doubt },
    { pause: undefined, holdMs: MINUTE_MS },
  ],
  [
    'an unknown text for 30 minutes',
    { reason: 'unknown', seconds: 1_800, quota: room },
    { pause: 'held_back', holdMs: MINUTE_MS },
  ],
];

test.for(ROWS)('a 429 of %s is waited for at its pace, or pauses', ([, throttled, step]) => {
  const usual = { reason: 'monthly', verdict: 'clean', wanted: 500, seconds: 0, quota: room } as const;
  expect(throttleStep({ ...usual, ...throttled })).toEqual(step);
});

const account: PausedAccount = {
  ...{ organizationId: '1', lineOaId: '1', reasonCode: 'monthly_limit', quota: 1_000, used: 800, wanted: 500 },
  ...{ pausedSeconds: 60, isNewMonth: false },
};
const heldBack = { reasonCode: 'held_back' } as const;
const OVER: [
  what: string,
  account: Partial<PausedAccount>,
  now: { value: number | null; used: number } | undefined,
  isOver: boolean,
][] = [
  ['nothing changed', {}, { value: 1_000, used: 800 }, false],
  ['LINE does not tell', {}, undefined, false],
  ['more, but not enough', {}, { value: 1_200, used: 800 }, false],
  ['enough for the request', {}, { value: 1_300, used: 800 }, true],
  ['no limit any more', {}, { value: null, used: 800 }, true],
  ['a new month', { isNewMonth: true }, undefined, true],
  ['held back, nothing changed', { ...heldBack, quota: 5_000 }, { value: 5_000, used: 800 }, false],
  ['held back, somebody sent', { ...heldBack, quota: 5_000 }, { value: 5_000, used: 900 }, true],
  ['held back, used up meanwhile', { ...heldBack, quota: 5_000 }, { value: 5_000, used: 5_000 }, false],
  ['held back for an hour', { ...heldBack, pausedSeconds: 3_600 }, undefined, true],
];

test.for(OVER)('a pause for want of messages, %s', ([, changes, now, isOver]) => {
  expect(shortageIsOver({ ...account, ...changes }, now) !== undefined).toBe(isOver);
});
