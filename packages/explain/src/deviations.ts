import type { TriggerRule } from '@dueline/trigger-rules';
import { requirementsOf } from '@dueline/trigger-rules';
import { isTimed } from './cycles/timed-rule.ts';
import type { Account } from './rule-then.ts';

/** What the past does not tell, and a dry run therefore takes as it is now, or leaves out. */
export type DeviationCode =
  | 'history_begins_later'
  | 'audiences_as_now'
  | 'bookings_as_now'
  | 'people_as_now'
  | 'values_cut'
  | 'limits_as_now'
  | 'done_when_due'
  | 'waits_not_followed'
  | 'checked_again_when_due'
  | 'root_budget_left_out'
  | 'cycles_on_time'
  | 'dates_stay'
  | 'ahead_as_now';

/** One of them, with a sentence for people. */
export interface Deviation {
  readonly code: DeviationCode;
  readonly says: string;
}

const SAYS: Readonly<Record<DeviationCode, string>> = {
  history_begins_later:
    'history does not reach back to the beginning of the range: what happened before it begins is not played',
  audiences_as_now: 'who is in an audience is asked as it is now: the past of audiences is not kept',
  bookings_as_now: 'what a booking is about and when it starts is asked as it is now',
  people_as_now: 'names, languages and zones of people are as they are now',
  values_cut: 'some values were too long for the history of attributes, and are taken for absent',
  limits_as_now:
    'caps, quiet hours and the zone of the account are as they are now, and a cap takes away no message that others sent',
  done_when_due: 'what waits is taken to be done at the moment at which it is due',
  waits_not_followed:
    'whether what people would have waited for came is not looked at: their messages are counted as "perhaps"',
  checked_again_when_due: 'whether the conditions still held when a message was due is not looked at',
  root_budget_left_out:
    'the budget of decisions for one root is not spent; chains of more than ten changes end as they did',
  cycles_on_time:
    'every cycle of the calendar is taken to begin on time and to be read at once: none is missed, skipped, stopped or met by another',
  dates_stay: 'a date that moves while an action waits for it is not followed',
  ahead_as_now:
    'of what is ahead nothing is known: people stay as they are now, none come and none go, and what others will send is not counted',
};

/** What of all that concerns this rule. Pure. */
export function deviationsOf(
  { caps, quietPolicy }: Account,
  { rule, isCut, uncertain, isAhead }: { rule: TriggerRule; isCut: boolean; uncertain: number; isAhead: boolean },
): Deviation[] {
  const needs = requirementsOf(rule);
  const { delay } = rule.actionConfig;
  const hasWords = 'messages' in rule.actionConfig && JSON.stringify(rule.actionConfig.messages).includes('{{');
  const hangsOnBooking = isTimed(rule) && delay?.mode === 'relativeToDate' && 'bookingId' in delay.to;
  const concerns: Readonly<Record<DeviationCode, boolean>> = {
    history_begins_later: isCut,
    audiences_as_now: needs.audiences.size > 0 || (isTimed(rule) && rule.sourceConfig.audienceId !== undefined),
    bookings_as_now: (rule.sourceType === 'booking_event' && needs.eventFields.size > 0) || hangsOnBooking,
    people_as_now: needs.clock || hasWords || (isTimed(rule) && rule.sourceConfig.onDate !== undefined),
    values_cut: uncertain > 0,
    limits_as_now: (rule.isCapped && caps.length > 0) || quietPolicy !== null || rule.frequency.startsWith('once_per'),
    done_when_due: (delay !== undefined || isTimed(rule)) && (rule.reentry === 'not_while_open' || rule.isCapped),
    waits_not_followed: delay !== undefined && delay.mode !== 'normal',
    checked_again_when_due: delay?.reEvaluateConditions === true && !isTimed(rule),
    root_budget_left_out: rule.sourceType === 'attribute_changed',
    cycles_on_time: isTimed(rule),
    dates_stay: isTimed(rule) && delay?.mode === 'relativeToDate',
    ahead_as_now: isAhead,
  };
  return (Object.keys(SAYS) as DeviationCode[]).flatMap((code) => (concerns[code] ? [{ code, says: SAYS[code] }] : []));
}
