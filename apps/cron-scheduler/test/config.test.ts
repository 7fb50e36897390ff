import { expect, test } from 'vitest';
import { keptWorkMonths, loadConfig } from '../src/config.ts';

const env = (kept: Record<string, string>) => ({
  DATABASE_URL: 'postgres://localhost/x',
  AMQP_URL: 'amqp://localhost',
  REDIS_URL: 'redis://localhost',
  ...kept,
});

test.for([
  [{}, 13],
  [{ KEEP_EVENTS_MONTHS: '2' }, 13],
  [{ KEEP_EVENTS_MONTHS: '24' }, 24],
  [{ KEEP_EVENTS_MONTHS: '0' }, 0],
  [{ KEEP_EVENTS_MONTHS: '3', KEEP_WORK_MONTHS: '3' }, 3],
  [{ KEEP_EVENTS_MONTHS: '3', KEEP_WORK_MONTHS: '0' }, 0],
  [{ KEEP_EVENTS_MONTHS: '0', KEEP_WORK_MONTHS: '0' }, 0],
] as const)('%o keep ended work for %i months', ([kept, months]) => {
  expect(keptWorkMonths(loadConfig(env(kept)))).toBe(months);
});

test.for([
  [{ KEEP_WORK_MONTHS: '12' }, 'KEEP_EVENTS_MONTHS (13)'],
  [{ KEEP_EVENTS_MONTHS: '0', KEEP_WORK_MONTHS: '1200' }, 'KEEP_EVENTS_MONTHS (0: for ever)'],
] as const)('%o would let a replay set off again what was removed, and is refused', ([kept, problem]) => {
  expect(() => loadConfig(env(kept))).toThrow(problem);
});
