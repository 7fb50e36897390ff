import type { Matches, Policy } from './clock-tape.ts';

/** Expressions, each with what it asks of a reading said again in another way. */
export const PATTERNS: readonly (readonly [cron: string, matches: Matches])[] = [
  ['30 2 * * *', (at) => hm(at) === 230],
  ['0 0 * * *', (at) => hm(at) === 0],
  ['* * * * *', () => true],
  ['*/30 * * * *', (at) => at.getUTCMinutes() % 30 === 0],
  ['7-59/20 * * * *', (at) => [7, 27, 47].includes(at.getUTCMinutes())],
  ['15 */2 * * *', (at) => at.getUTCHours() % 2 === 0 && at.getUTCMinutes() === 15],
  ['0,45 1-3 * * *', (at) => [100, 145, 200, 245, 300, 345].includes(hm(at))],
  ['30 2 29-31 * *', (at) => hm(at) === 230 && at.getUTCDate() > 28],
  ['0 0 L * *', (at) => hm(at) === 0 && isLastOfMonth(at)],
  ['59 23 * * 6', (at) => hm(at) === 2359 && at.getUTCDay() === 6],
  ['0 3 * 3,10,11 0', (at) => hm(at) === 300 && at.getUTCDay() === 0 && [2, 9, 10].includes(at.getUTCMonth())],
  ['30 1 29 2 *', (at) => hm(at) === 130 && at.getUTCDate() === 29 && at.getUTCMonth() === 1],
  ['@daily', (at) => hm(at) === 0],
  ['@hourly', (at) => at.getUTCMinutes() === 0],
];

const hm = (at: Date): number => at.getUTCHours() * 100 + at.getUTCMinutes();
const isLastOfMonth = (at: Date): boolean => new Date(at.getTime() + 86_400_000).getUTCDate() === 1;

/** All there are, and what is in force when a rule names none. */
export const POLICIES: readonly (Policy | undefined)[] = [
  undefined,
  ...(['after', 'skip'] as const).flatMap((gap) =>
    (['first', 'last', 'both'] as const).map((repeated) => ({ gap, repeated })),
  ),
];

/** What is in force when a rule names no policy: a time of day comes once on each day, what comes every so often goes on. */
export const unsaid = (cron: string): Policy =>
  ['* * * * *', '*/30 * * * *', '7-59/20 * * * *', '15 */2 * * *', '@hourly'].includes(cron)
    ? { gap: 'skip', repeated: 'both' }
    : { gap: 'after', repeated: 'first' };
