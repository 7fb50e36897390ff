import type { Condition, Facts } from '@dueline/conditions';
import type { AttributeChange, Delay, EventPayloads, EventTopic, Scalar, SourceType } from '@dueline/contracts';
import type { OutboxEvent } from '@dueline/db/changes';
import {
  conditionsStillHold,
  fieldsFor,
  listensTo,
  matchEvent,
  planAction,
  readRecheck,
  requirementsOf,
  sourceKeysOf,
  sourceToRecheck,
  type TriggerRule,
} from '@dueline/trigger-rules';
import { expect, test } from 'vitest';

interface Side {
  readonly from?: Scalar | null;
  readonly to?: Scalar | null;
  readonly conditions?: Condition;
}
const GOLD: AttributeChange = { from: 'silver', to: 'gold' };
const isFan: Condition = { attribute: 'fan', op: 'eq', value: true };

/** An event as the outbox gives it. */
const eventOf = <Topic extends EventTopic>(topic: Topic, payload: EventPayloads[Topic]): OutboxEvent =>
  ({
    ...{ id: '1', eventId: 'e', organizationId: '1', lineOaId: '1', userId: 'U', occurredAt: '2026-12-01T00:00:00Z' },
    ...{ bulk: false, causeId: null, rootId: 'e', depth: 0, traceparent: null, topic, ...payload },
  }) as unknown as OutboxEvent;
const changed = (change: AttributeChange) => eventOf('attribute_changed', { changed: new Map([['plan', change]]) });

const framed = ({ conditions, ...rest }: Side) =>
  conditions === undefined ? rest : { ...rest, conditions: { version: 1, when: conditions } };
const ruleOn = (sourceType: SourceType, sourceConfig: object): TriggerRule =>
  ({ ...rule({ messages }), sourceType, sourceConfig }) as TriggerRule;
const planRule = (side: Side) => ruleOn('attribute_changed', { attribute: 'plan', ...framed(side) });

const clock: Facts['clock'] = { now: '2026-12-01T00:00:00Z', accountZone: 'Asia/Tokyo', userZone: null };
const facts = (attributes: object, event: Facts['event'] = new Map()): Facts => ({
  ...{ attributes: new Map(Object.entries(attributes)), event, audiences: new Map(), clock },
});

const MATCHES: [name: string, Side, AttributeChange, attributes: object, result: string][] = [
  ['neither side is named', {}, GOLD, {}, 'matches'],
  ['both sides are as named', { from: 'silver', to: 'gold' }, GOLD, {}, 'matches'],
  ['to is another', { to: 'bronze' }, GOLD, {}, 'value_not_matched'],
  ['from is another', { from: 'bronze' }, GOLD, {}, 'value_not_matched'],
  ['from is named but was absent', { from: 'silver' }, { to: 'gold' }, {}, 'value_not_matched'],
  ['to is named but was removed', { to: 'gold' }, { from: 'gold' }, {}, 'value_not_matched'],
  ['to is named but became null', { to: 'gold' }, { to: null }, {}, 'value_not_matched'],
  ['text is named but it is a number', { to: '1' }, { to: 1 }, {}, 'value_not_matched'],
  ['false is named and it is false', { to: false }, { to: false }, {}, 'matches'],
  ['0 is named and it is 0', { from: 0 }, { from: 0, to: 1 }, {}, 'matches'],
  ['an accent is composed on one side only', { to: 'caf\u00e9' }, { to: 'cafe\u0301' }, {}, 'matches'],
  ['the attribute was removed and no side is named', {}, { from: 'gold' }, {}, 'matches'],
  ['it is to be new, and is', { from: null }, { to: 'gold' }, {}, 'matches'],
  ['it is to be new, and was there', { from: null }, GOLD, {}, 'value_not_matched'],
  ['it is to be removed, and was', { to: null }, { from: 'gold' }, {}, 'matches'],
  ['it is to be removed, and became null', { to: null }, { from: 'gold', to: null }, {}, 'value_not_matched'],
  ['the value is an object', { to: 'x' }, { to: { x: 1 } }, {}, 'value_not_matched'],
  ['the conditions hold', { to: 'gold', conditions: isFan }, GOLD, { fan: true }, 'matches'],
  ['the conditions do not hold', { to: 'gold', conditions: isFan }, GOLD, {}, 'conditions_not_met'],
  ['the conditions were emptied', { conditions: { all: [] } }, GOLD, {}, 'conditions_not_met'],
  [
    'the old value is not what a condition asks for',
    { conditions: { event: '/from', op: 'absent' } },
    GOLD,
    {},
    'conditions_not_met',
  ],
  [
    'the new value is what a condition asks for',
    { conditions: { event: '/to', op: 'starts', value: 'go' } },
    GOLD,
    {},
    'matches',
  ],
];

test.for(MATCHES)('when %s: $4', ([, side, change, attributes, result]) => {
  const [one, event] = [planRule(side), changed(change)];
  const match = matchEvent(one, event, facts(attributes, fieldsFor(one, event)));
  expect(match.matches ? 'matches' : match.reason).toBe(result);
});

test('what did not match because of a condition says which', () => {
  expect(matchEvent(planRule({ conditions: isFan }), changed(GOLD), facts({ fan: 'yes' }))).toEqual({
    matches: false,
    reason: 'conditions_not_met',
    leaves: [{ path: '', attribute: 'fan', op: 'eq', expected: true, actual: 'yes', holds: false, why: 'wrong_type' }],
  });
});

const CLICK = { clickId: '1', trackedLinkId: '7', linkIssueId: null, isRobot: false };
const FOLLOW = { friendTrackEventId: '1', type: 'follow', isUnblocked: false } as const;
const BOOKING = { bookingEventId: '1', bookingId: '7', type: 'created' } as const;
const LISTENS: [
  SourceType,
  config: object,
  event: OutboxEvent,
  keys: string[],
  result: boolean | 'value_not_matched',
][] = [
  ['attribute_changed', { attribute: 'plan' }, changed(GOLD), ['plan'], true],
  ['attribute_changed', { attribute: 'city' }, changed(GOLD), ['plan'], false],
  ['attribute_changed', { attribute: 'constructor' }, changed(GOLD), ['plan'], false],
  ['form_submitted', { formId: '7' }, eventOf('form_submitted', { formSubmissionId: '1', formId: '7' }), ['7'], true],
  ['form_submitted', { formId: '8' }, eventOf('form_submitted', { formSubmissionId: '1', formId: '7' }), ['7'], false],
  ['form_submitted', {}, eventOf('form_submitted', { formSubmissionId: '1', formId: '7' }), ['7'], true],
  ['form_submitted', {}, changed(GOLD), ['plan'], false],
  ['campaign_click', { trackedLinkId: '7' }, eventOf('campaign_click', CLICK), ['7'], true],
  ['campaign_click', { trackedLinkId: '8' }, eventOf('campaign_click', CLICK), ['7'], false],
  ['campaign_click', {}, eventOf('campaign_click', CLICK), ['7'], true],
  ['campaign_click', {}, eventOf('campaign_click', { ...CLICK, isRobot: true }), ['7'], false],
  ['friend_track_event_inserted', { follow: 'any' }, eventOf('friend_track_event_inserted', FOLLOW), [], true],
  ['friend_track_event_inserted', { follow: 'new' }, eventOf('friend_track_event_inserted', FOLLOW), [], true],
  [
    'friend_track_event_inserted',
    { follow: 'unblocked' },
    eventOf('friend_track_event_inserted', FOLLOW),
    [],
    'value_not_matched',
  ],
  [
    'friend_track_event_inserted',
    { follow: 'unblocked' },
    eventOf('friend_track_event_inserted', { ...FOLLOW, isUnblocked: true }),
    [],
    true,
  ],
  [
    'friend_track_event_inserted',
    { follow: 'new' },
    eventOf('friend_track_event_inserted', { ...FOLLOW, isUnblocked: true }),
    [],
    'value_not_matched',
  ],
  [
    'friend_track_event_inserted',
    { follow: 'any' },
    eventOf('friend_track_event_inserted', { ...FOLLOW, type: 'unfollow' }),
    [],
    false,
  ],
  ['booking_event', { types: ['created'] }, eventOf('booking_event', BOOKING), [], true],
  [
    'booking_event',
    { types: ['cancelled', 'no_show'] },
    eventOf('booking_event', { ...BOOKING, type: 'no_show' }),
    [],
    true,
  ],
  ['booking_event', { types: ['cancelled', 'no_show'] }, eventOf('booking_event', BOOKING), [], false],
  [
    'custom_event',
    { name: 'purchase' },
    eventOf('custom_event', { customEventId: '1', name: 'purchase' }),
    ['purchase'],
    true,
  ],
  [
    'custom_event',
    { name: 'purchase' },
    eventOf('custom_event', { customEventId: '1', name: 'cart' }),
    ['cart'],
    false,
  ],
];

test.for(LISTENS)('a rule on %s with %j meets %o, which stands under %j: %s', ([type, config, event, keys, result]) => {
  const one = ruleOn(type, config);
  expect(sourceKeysOf(event)).toEqual(keys);
  expect(listensTo(one, event)).toBe(result !== false);
  if (result !== false) expect(matchEvent(one, event, facts({})).matches).toBe(result === true);
});

test('what the conditions of a rule ask about an event is taken from the event and from its row', () => {
  const asks = (event: string): Condition => ({ event, op: 'exists' });
  const all = ['/payload/amount', '/payload/__proto__', '/name', '/occurredAt', '/payload/none'];
  const one = ruleOn('custom_event', { name: 'purchase', conditions: { version: 1, when: { all: all.map(asks) } } });
  const payload: unknown = JSON.parse('{"amount": 5, "__proto__": {"a": 1}}');
  const event = eventOf('custom_event', { customEventId: '1', name: 'purchase' });
  expect([...requirementsOf(one).eventFields]).toEqual(all);
  expect([...fieldsFor(one, event, { payload })]).toEqual([
    ['/payload/amount', 5],
    ['/payload/__proto__', {}],
    ['/name', 'purchase'],
    ['/occurredAt', '2026-12-01T00:00:00Z'],
  ]);
});

const STILL: [name: string, Side, attributes: object, holds: boolean][] = [
  ['nothing was named', {}, {}, true],
  ['only from was named', { from: 'silver' }, { plan: 'other' }, true],
  ['the value stayed', { to: 'gold' }, { plan: 'gold' }, true],
  ['the value went', { to: 'gold' }, { plan: 'silver' }, false],
  ['the attribute was removed', { to: 'gold' }, {}, false],
  ['it was removed, as it was to be', { to: null }, {}, true],
  ['it was removed, and is there again', { to: null }, { plan: 'gold' }, false],
  ['value and conditions hold', { to: 'gold', conditions: isFan }, { plan: 'gold', fan: true }, true],
  ['the conditions hold no more', { to: 'gold', conditions: isFan }, { plan: 'gold', fan: false }, false],
  ['the value went, the conditions hold', { to: 'gold', conditions: isFan }, { plan: 'x', fan: true }, false],
  ['the conditions were emptied', { conditions: { any: [] } }, {}, false],
];

const stillHolds = (source: unknown, attributes: object) =>
  conditionsStillHold(readRecheck(JSON.parse(JSON.stringify(source))), facts(attributes)).holds;

test.for(STILL)('when it comes due and %s: $3', ([, side, attributes, holds]) => {
  expect(stillHolds(planRule(side).sourceConfig, attributes)).toBe(holds);
  expect(stillHolds({ attribute: 'plan', ...side }, attributes)).toBe(holds); // as it was written before conditions had a version
});

test.for<[string, unknown, boolean]>([
  ['an empty object', {}, true],
  ['a list', [], false],
  ['conditions that are none', { conditions: { op: 'eq' } }, false],
  ['an attribute that is none', { attribute: 7, to: 'x' }, false],
  ['a value that is none', { attribute: 'a', to: {} }, false],
])('when it comes due and its source is %s: %s', ([, source, holds]) => {
  expect(stillHolds(source, {})).toBe(holds);
});

test('what an event said is still known when its action comes due', () => {
  const conditions = { version: 1, when: { event: '/payload/amount', op: 'gte', value: 100 } };
  const one = ruleOn('custom_event', { name: 'purchase', conditions });
  const event = eventOf('custom_event', { customEventId: '1', name: 'purchase' });
  const kept = (amount: number) =>
    sourceToRecheck(one.sourceConfig, { event: fieldsFor(one, event, { payload: { amount } }) });
  expect(stillHolds(kept(100), {})).toBe(true);
  expect(stillHolds(kept(99), {})).toBe(false);
  expect(sourceToRecheck(planRule({ to: 'gold' }).sourceConfig, { event: new Map() })).toEqual({
    attribute: 'plan',
    to: 'gold',
  });
});

const messages = [{ type: 'text' as const, text: 'hello' }];
const rule = (actionConfig: TriggerRule<'send_message'>['actionConfig']): TriggerRule => ({
  ...{ id: '1', organizationId: '1', lineOaId: '1', version: 1, sourceType: 'attribute_changed' },
  ...{
    sourceConfig: { attribute: 'plan' },
    actionType: 'send_message',
    actionConfig,
    frequency: 'once',
    cooldownSeconds: 0,
    ...{ reentry: 'always', mode: 'live', isCapped: false, dropsInQuietHours: false, fullHistory: false },
  },
});

test.for<Delay>([
  { mode: 'normal', seconds: 0, reEvaluateConditions: false },
  { mode: 'normal', days: 1, at: '09:00', reEvaluateConditions: true },
  {
    ...{ mode: 'waitForTracking', expiresSeconds: 60, reEvaluateConditions: false },
    waits: [],
    onExpired: { do: 'run' },
  },
  {
    ...{ mode: 'relativeToDate', to: { attribute: 'birthday' }, offsetDays: 0, reEvaluateConditions: true },
    whenPast: 'skip',
  },
])('an action with a delay waits, and the delay is no part of what it does: %j', (delay) => {
  expect(planAction(rule({ messages, delay }))).toEqual({
    ...{ kind: 'later', request: { actionType: 'send_message', actionConfig: { messages } }, delay },
    sourceConfig: delay.reEvaluateConditions ? { attribute: 'plan' } : null,
  });
});

test('an action without a delay happens now', () => {
  const request = { actionType: 'send_message', actionConfig: { messages } };
  expect(planAction(rule({ messages }))).toEqual({ kind: 'now', request });
});

test('a rule on the clicks of one campaign is set off by those, and by no click of another or of none', () => {
  const rule = ruleOn('campaign_click', { campaignId: '3' });
  const event = eventOf('campaign_click', { ...CLICK, linkIssueId: '5' });
  expect([...requirementsOf(rule).eventFields]).toEqual(['/campaignId']);
  const matches = (campaignId: unknown) => matchEvent(rule, event, facts({}, fieldsFor(rule, event, { campaignId })));
  expect(matches('3')).toEqual({ matches: true });
  for (const other of ['4', undefined]) expect(matches(other)).toEqual({ matches: false, reason: 'value_not_matched' });
});
