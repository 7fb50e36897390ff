import type { ScheduledTimeConfig } from '@dueline/contracts';
import { PermanentError } from '@dueline/kernel';
import { createCalendar } from './calendar.ts';

/**
 * What is wrong with the calendar of a rule, with the name of the field; undefined: cycles can be planned by it. A zone that is left out is the
 * account's, and not looked at. Pure.
 */
export function calendarProblem({
  cron,
  timezone,
}: Pick<ScheduledTimeConfig, 'cron' | 'timezone'>):
  | { readonly field: 'cron' | 'timezone'; readonly problem: string }
  | undefined {
  const cronProblem = problemOf({ cron, timezone: 'UTC' });
  if (cronProblem !== undefined) return { field: 'cron', problem: cronProblem };
  const zoneProblem = timezone === undefined ? undefined : problemOf({ cron: '@daily', timezone });
  return zoneProblem === undefined ? undefined : { field: 'timezone', problem: zoneProblem };
}

function problemOf(spec: { cron: string; timezone: string }): string | undefined {
  try {
    createCalendar(spec);
    return undefined;
  } catch (error) {
    if (error instanceof PermanentError) return error.message;
    throw error;
  }
}
