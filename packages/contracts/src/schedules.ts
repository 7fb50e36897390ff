import { z } from 'zod';
import { bigintId } from './ids.ts';
import { attributeName } from './names.ts';

const MAX_CATCH_UP_SECONDS = 2_592_000;
const MAX_DAYS_FROM_DATE = 3_650;

/** Whom a reminder is for: whoever has an attribute with a date that lies so many days after the day of the cycle. */
const onDate = z.strictObject({
  attribute: attributeName,
  /** 7: a week before the date; 0: on its day; -1: the day after. */
  daysBefore: z.int().min(-MAX_DAYS_FROM_DATE).max(MAX_DAYS_FROM_DATE).default(0),
  /** Each year on the day of the date, as for a birthday; false: once, on the date itself. */
  yearly: z.boolean().default(false),
  /** The day on which the 29th of February is kept in a year that has none. */
  leapDay: z.enum(['feb28', 'mar1']).default('feb28'),
});

/** source_config of `scheduled_time`: when cycles begin, for whom, and what becomes of those that are late or meet another. */
export const scheduledTimeConfig = z
  .strictObject({
    /** Five fields, or a nickname such as `@daily`. */
    cron: z.string().min(1).max(200),
    /** An IANA name; left out: the account's zone, whatever that is when a cycle is planned. */
    timezone: z.string().min(1).max(64).optional(),
    /** Left out: all friends of the account. */
    audienceId: bigintId.optional(),
    onDate: onDate.optional(),
    /** A time that the clocks jump over; left out: as people expect it of cron. */
    gap: z.enum(['after', 'skip']).optional(),
    /** A time that the clocks show twice; left out: as people expect it of cron. */
    repeated: z.enum(['first', 'last', 'both']).optional(),
    /** What becomes of cycles whose time passed while nobody opened them: the last of them runs, all do, or none. */
    misfire: z.enum(['latest', 'all', 'skip']).default('latest'),
    /** How late a cycle may be opened, in seconds; one minute at least. */
    catchUpSeconds: z.int().min(0).max(MAX_CATCH_UP_SECONDS).default(3_600),
    /** While an earlier cycle of the rule is not over: a new one is skipped, runs beside it, or one waits for its end. */
    overlap: z.enum(['skip', 'allow', 'queue']).default('skip'),
    /** Asked of each person when the action is decided; read by trigger-rules. */
    conditions: z.unknown().optional(),
  })
  .refine(({ misfire, overlap }) => misfire !== 'all' || overlap !== 'skip', {
    path: ['overlap'],
    error: 'cycles that are all made up for meet each other: allow or queue',
  });
export type ScheduledTimeConfig = z.infer<typeof scheduledTimeConfig>;
