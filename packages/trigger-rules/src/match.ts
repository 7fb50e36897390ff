import {
  type Evaluation,
  evaluateConditions,
  eventFieldsOf,
  type Facts,
  isSameValue,
  type Requirements,
  requirements,
} from '@dueline/conditions';
import type { AttributeChange, Scalar } from '@dueline/contracts';
import type { EventOf, OutboxEvent } from '@dueline/db/changes';
import type { TriggerRule } from './rule.ts';

/** Why a rule that listens to an event was or was not set off by it. */
export type Match =
  | { readonly matches: true }
  | { readonly matches: false; readonly reason: 'value_not_matched' }
  | { readonly matches: false; readonly reason: 'conditions_not_met'; readonly leaves: Evaluation['leaves'] };

/** What an event may set off: the `source_key` of rules; rules without one listen to every event of their source. Pure. */
export function sourceKeysOf(event: OutboxEvent): string[] {
  switch (event.topic) {
    case 'attribute_changed':
      return [...event.changed.keys()];
    case 'form_submitted':
      return [event.formId];
    case 'campaign_click':
      return [event.trackedLinkId];
    case 'custom_event':
      return [event.name];
    case 'friend_track_event_inserted':
    case 'booking_event':
    case 'delivery_settled':
      return [];
  }
}

/** Whether an event is of the kind that the rule listens to; what is not leaves no trace in the history of the rule. Pure. */
export function listensTo({ sourceType, sourceConfig }: TriggerRule, event: OutboxEvent): boolean {
  switch (sourceType) {
    case 'attribute_changed':
      return event.topic === sourceType && event.changed.has(sourceConfig.attribute);
    case 'form_submitted':
      return event.topic === sourceType && isEither(sourceConfig.formId, event.formId);
    case 'campaign_click':
      return event.topic === sourceType && !event.isRobot && isEither(sourceConfig.trackedLinkId, event.trackedLinkId);
    case 'friend_track_event_inserted':
      return event.topic === sourceType && event.type === 'follow';
    case 'booking_event':
      return event.topic === sourceType && sourceConfig.types.includes(event.type);
    case 'custom_event':
      return event.topic === sourceType && event.name === sourceConfig.name;
    case 'scheduled_time':
      return false; // time is no event: cycles find their rule
  }
}

const isEither = (wanted: string | undefined, found: string): boolean => wanted === undefined || wanted === found;

/**
 * Whether an event sets off a rule that listens to it: the values are those that the source names, and the conditions hold for the person
 * as they are now. Pure.
 */
export function matchEvent(rule: TriggerRule, event: OutboxEvent, facts: Facts): Match {
  if (!hasNamedValues(rule, event, facts)) return { matches: false, reason: 'value_not_matched' };
  const { conditions } = rule.sourceConfig;
  if (conditions === undefined) return { matches: true };
  const { holds, leaves } = evaluateConditions(conditions.when, facts);
  return holds ? { matches: true } : { matches: false, reason: 'conditions_not_met', leaves };
}

function hasNamedValues({ sourceType, sourceConfig }: TriggerRule, event: OutboxEvent, facts: Facts): boolean {
  if (sourceType === 'attribute_changed' && event.topic === sourceType) {
    const change = event.changed.get(sourceConfig.attribute) ?? {};
    return isSide(sourceConfig.from, change, 'from') && isSide(sourceConfig.to, change, 'to');
  }
  if (sourceType === 'friend_track_event_inserted' && event.topic === sourceType)
    return sourceConfig.follow === 'any' || (sourceConfig.follow === 'unblocked') === event.isUnblocked;
  if (sourceType === 'campaign_click')
    return sourceConfig.campaignId === undefined || sourceConfig.campaignId === facts.event.get(CAMPAIGN_ID);
  return true;
}

/** JSON null, and a value that was too large to travel, are no value that a rule can name, and not absent either. */
function isSide(named: Scalar | null | undefined, change: AttributeChange, side: 'from' | 'to'): boolean {
  if (named === undefined) return true;
  return named === null ? !Object.hasOwn(change, side) : isSameValue(change[side], named);
}

/** The campaign in whose message a link was clicked: not in the event, so it is asked for as conditions are. */
const CAMPAIGN_ID = '/campaignId';

const known = new WeakMap<TriggerRule, Requirements>();

/** What must be known to judge a rule. Pure. */
export function requirementsOf(rule: TriggerRule): Requirements {
  const before = known.get(rule);
  if (before !== undefined) return before;
  const { conditions } = rule.sourceConfig;
  const asked = requirements(...(conditions === undefined ? [] : [conditions.when]));
  const needs = namesCampaign(rule) ? { ...asked, eventFields: new Set([...asked.eventFields, CAMPAIGN_ID]) } : asked;
  known.set(rule, needs);
  return needs;
}

const namesCampaign = ({ sourceType, sourceConfig }: TriggerRule): boolean =>
  sourceType === 'campaign_click' && sourceConfig.campaignId !== undefined;

/** What a row says beyond its event: answers of a form, name and start of a booking, payload of a custom event, campaign of a click. */
export interface MoreOfEvent {
  readonly answers?: unknown;
  readonly name?: unknown;
  readonly startsAt?: unknown;
  readonly payload?: unknown;
  readonly campaignId?: unknown;
}

/** The fields of an event that the conditions of a rule ask about, by their JSON pointers. Pure. */
export function fieldsFor(rule: TriggerRule, event: OutboxEvent, more: MoreOfEvent = {}): Facts['event'] {
  const { eventFields } = requirementsOf(rule);
  if (eventFields.size === 0) return new Map();
  return eventFieldsOf({ ...more, ...ofEvent(rule, event), occurredAt: event.occurredAt }, eventFields);
}

function ofEvent(rule: TriggerRule, event: OutboxEvent): object {
  if (event.topic !== 'attribute_changed') return { ...event };
  return rule.sourceType === 'attribute_changed' ? ofChange(rule.sourceConfig.attribute, event) : {};
}

const ofChange = (attribute: string, event: EventOf<'attribute_changed'>) => ({
  attribute,
  ...event.changed.get(attribute),
});
