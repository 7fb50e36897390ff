import { type ScheduledTimeConfig, scheduledTimeConfig } from '@dueline/contracts';
import { PermanentError } from '@dueline/kernel';
import { type Calendar, createCalendar } from './calendar.ts';

/** A rule's schedule, as it was read. */
export interface Schedule {
  readonly config: ScheduledTimeConfig;
  readonly calendar: Calendar;
}

/**
 * What a rule's source_config says of its cycles.
 *
 * @param zone The account's, for a rule that names none.
 * @throws PermanentError whose message names the field.
 */
export function parseSchedule(sourceConfig: unknown, zone: string): Schedule {
  const { data: config, error } = scheduledTimeConfig.safeParse(sourceConfig);
  if (config === undefined) {
    const [issue] = error.issues;
    throw new PermanentError(`/sourceConfig/${issue?.path.join('/') ?? ''}: ${issue?.message ?? 'invalid'}`);
  }
  const { cron, gap, repeated, timezone = zone } = config;
  return { config, calendar: createCalendar({ cron, timezone, gap, repeated }) };
}
