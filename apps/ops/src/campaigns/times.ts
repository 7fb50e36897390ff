import { UsageError } from '../actions/command-line.ts';
import type { Typed } from './subcommand.ts';

/** When a campaign starts and what it must not become, of several subcommands. */
export const TIME_OPTIONS = {
  at: ['<time>', 'it starts then'],
  'not-after': ['<time|none>', 'nothing of it is sent after that'],
  people: ['<n>', 'how many people it may reach; more of them at the start, and you are asked again'],
} as const;

/** Leaves out what was not given, so that absent and undefined are the same. */
export const given = <T extends object>(values: T): { [key in keyof T]?: Exclude<T[key], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

/** What is wrong in a time is told by whoever keeps it. @throws UsageError */
export function timesOf({ values }: Typed) {
  const { at: startDate, 'not-after': last, people } = values;
  if (people !== undefined && !/^[1-9]\d{0,9}$/.test(people))
    throw new UsageError(`--people ${people}: a number from 1`);
  const notAfter = last === 'none' ? null : last;
  return given({ startDate, notAfter, confirmedCount: people === undefined ? undefined : Number(people) });
}
