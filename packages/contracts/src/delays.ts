import { z } from 'zod';
import { messageList } from './content.ts';
import { bigintId } from './ids.ts';
import { attributeName } from './names.ts';
import { MAX_WAITS, waitFor } from './waits.ts';

/** Longest delay of an action in seconds: ten years, so that a typing error cannot reach beyond what people plan. */
export const MAX_DELAY_SECONDS = 315_360_000;
const MAX_MONTHS = 120;
const MAX_WEEKS = 521;
const MAX_DAYS = 3_650;

const seconds = z.number().int().min(0).max(MAX_DELAY_SECONDS);
/** A time of day, `HH:MM`, in the person's zone if it has a valid one, else in the account's. */
const localTime = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'a time of day is HH:MM, 00:00 to 23:59');

const common = {
  /** Evaluate the rule's conditions once more when the action comes due, and cancel it when they no longer hold. */
  reEvaluateConditions: z.boolean().default(false),
  /** Later than so many seconds after its time the action is not worth doing; left out: it always is. */
  maxLatenessSeconds: seconds.optional(),
};

const normalDelay = z
  .strictObject({
    mode: z.literal('normal').default('normal'),
    /** Whole seconds from the decision; 0 makes a row that is due at once. Not beside calendar steps. */
    seconds: seconds.optional(),
    months: z.number().int().min(1).max(MAX_MONTHS).optional(),
    weeks: z.number().int().min(1).max(MAX_WEEKS).optional(),
    days: z.number().int().min(1).max(MAX_DAYS).optional(),
    /** The time of that day; without steps, the next time that a clock shows it. Left out: the time of the decision. */
    at: localTime.optional(),
    ...common,
  })
  .superRefine(({ seconds, months, weeks, days, at }, context) => {
    const isCalendar = [months, weeks, days, at].some((part) => part !== undefined);
    if ((seconds === undefined) === isCalendar) return checkTenYears({ months, weeks, days }, context);
    const message = isCalendar ? 'either seconds or calendar steps' : 'how long? seconds, months, weeks, days or at';
    context.addIssue({ code: 'custom', path: ['seconds'], message });
  });

function checkTenYears(
  { months = 0, weeks = 0, days = 0 }: Partial<Record<'months' | 'weeks' | 'days', number | undefined>>,
  context: z.RefinementCtx,
): void {
  const together = (months * 365) / 12 + weeks * 7 + days;
  if (together > MAX_DAYS) context.addIssue({ code: 'custom', path: ['months'], message: 'together over ten years' });
}

/** What happens when nothing that was waited for came in time. */
const onExpired = z.discriminatedUnion('do', [
  /** Nothing: the action was for those who did. */
  z.strictObject({ do: z.literal('skip') }),
  /** The action itself: whoever did not is served at the deadline. */
  z.strictObject({ do: z.literal('run') }),
  /** Something else: the branch of those who did not. */
  z.strictObject({ do: z.literal('instead'), messages: messageList }),
]);

const trackingDelay = z
  .strictObject({
    mode: z.literal('waitForTracking'),
    /** The deadline, in seconds from the decision; the two names mean the same, exactly one is given. */
    expiresSeconds: seconds.min(1).optional(),
    delaySeconds: seconds.min(1).optional(),
    /** Any of these ends the wait, and the action runs at once; left out: a click on any link. */
    waits: z
      .array(waitFor)
      .min(1)
      .max(MAX_WAITS)
      .default([{ source: 'link' }]),
    onExpired: onExpired.default({ do: 'skip' }),
    ...common,
  })
  .superRefine(({ expiresSeconds, delaySeconds }, context) => {
    if ((expiresSeconds === undefined) !== (delaySeconds === undefined)) return;
    const message = 'either expiresSeconds or delaySeconds says how long to wait';
    context.addIssue({ code: 'custom', path: ['expiresSeconds'], message });
  });

/** The date that a delay hangs on: an attribute of the person (a date, or a date and time), or when a booking of theirs starts. */
const anchor = z.union([z.strictObject({ attribute: attributeName }), z.strictObject({ bookingId: bigintId })]);

/** What becomes of an action whose time has passed already, when it is scheduled or when its date moves. */
const whenPast = z.enum(['fire', 'skip', 'fail']);

const dateDelay = z
  .strictObject({
    mode: z.literal('relativeToDate'),
    to: anchor,
    /** Before the date when negative. Either seconds or days. */
    offsetSeconds: z.number().int().min(-MAX_DELAY_SECONDS).max(MAX_DELAY_SECONDS).optional(),
    offsetDays: z.number().int().min(-MAX_DAYS).max(MAX_DAYS).optional(),
    /** The time of that day; left out: the time of the date, 00:00 when it has none. */
    at: localTime.optional(),
    whenPast: whenPast.default('skip'),
    ...common,
  })
  .superRefine(({ offsetSeconds, offsetDays, at }, context) => {
    if ((offsetSeconds === undefined) === (offsetDays === undefined)) {
      const message = 'either offsetSeconds or offsetDays says how far from the date';
      context.addIssue({ code: 'custom', path: ['offsetSeconds'], message });
    }
    if (offsetSeconds !== undefined && at !== undefined) {
      context.addIssue({ code: 'custom', path: ['at'], message: 'a time of day goes with offsetDays' });
    }
  });

/** When the action shall happen: after a while, when something happens or a deadline passes, or by a date that may move. */
export const delay = z.discriminatedUnion('mode', [normalDelay, trackingDelay, dateDelay]);
export type Delay = z.infer<typeof delay>;
