import type { Typed } from './subcommand.ts';

/** When a campaign starts and what it must not become, of several subcommands. */
export const TIME_OPTIONS = {
  at: ['<time>', 'it starts then'],
  'not-after': ['<time|none>', 'nothing of it is sent after that'],
} as const;

/** Leaves out what was not given, so that absent and undefined are the same. */
export const given = <T extends object>(values: T): { [key in keyof T]?: Exclude<T[key], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

/** What is wrong in a time is told by whoever keeps it. */
export function timesOf({ values }: Typed) {
  const { at: startDate, 'not-after': last } = values;
  return given({ startDate, notAfter: last === 'none' ? null : last });
}
