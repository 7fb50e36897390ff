import {
  bigintId,
  EVENT_PAYLOADS,
  EVENT_TOPICS,
  type EventTopic,
  envelope,
  fence,
  lineUserId,
  QUEUES,
  RULE_ACTION_CONFIGS,
  SOURCE_FILTERS,
  type SourceType,
  tickets,
} from '@dueline/contracts';
import { expect, test } from 'vitest';

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;

test.for([
  ['1', true, true],
  ['0', false, true],
  ['9223372036854775807', true, true],
  ['9223372036854775808', false, false], // one more than a bigint holds
  ['9999999999999999999', false, false],
  ['10000000000000000000', false, false],
  ['01', false, false],
  ['-1', false, false],
  ['1.0', false, false],
  ['', false, false],
  ['x'.repeat(100_000), false, false],
  [1, false, false],
] as const)('%j as an id: %s, as a fence: %s [SEM-116, SEM-117]', ([value, isId, isFence]) => {
  expect(accepts(bigintId, value)).toBe(isId);
  expect(accepts(fence, value)).toBe(isFence);
});

test.for([
  [`U${'a'.repeat(32)}`, true],
  [`U${'A'.repeat(32)}`, false],
  [`U${'a'.repeat(31)}`, false],
  [`u${'a'.repeat(32)}`, false],
  [`U${'a'.repeat(32)}\n`, false],
] as const)('%j is a LINE user: %s', ([value, is]) => {
  expect(accepts(lineUserId, value)).toBe(is);
});

test.for([
  [0, false],
  [1, true],
  [100, true],
  [101, false],
] as const)('a message of %i tickets is read: %s', ([count, is]) => {
  expect(accepts(tickets, { tickets: Array(count).fill({ id: '1', fence: '0' }) })).toBe(is);
});

test.for([
  ['text', 'gold', true],
  ['emoji', '🎉', true],
  ['NUL', 'a\u0000', false],
  ['a lone surrogate', '\ud800', false],
  ['too long a text', 'x'.repeat(4_097), false],
  ['infinity', Number.POSITIVE_INFINITY, false],
  ['null, which is absent', null, true],
  ['a list', [], false],
] as const)('a value that a rule names may be %s: %s', ([, to, is]) => {
  expect(accepts(SOURCE_FILTERS.attribute_changed, { attribute: 'a', to })).toBe(is);
});

test.for<[SourceType, config: object, is: boolean]>([
  ['form_submitted', {}, true],
  ['form_submitted', { formId: '7' }, true],
  ['form_submitted', { formId: 7 }, false],
  ['form_submitted', { trackedLinkId: '7' }, false],
  ['campaign_click', { trackedLinkId: '7' }, true],
  ['campaign_click', { isRobot: true }, false],
  ['friend_track_event_inserted', {}, true],
  ['friend_track_event_inserted', { follow: 'unblocked' }, true],
  ['friend_track_event_inserted', { follow: 'blocked' }, false],
  ['booking_event', {}, true],
  ['booking_event', { types: ['cancelled', 'no_show'] }, true],
  ['booking_event', { types: [] }, false],
  ['booking_event', { types: ['moved'] }, false],
  ['custom_event', { name: 'cart.abandoned' }, true],
  ['custom_event', {}, false],
  ['custom_event', { name: 'Purchase' }, false],
  ['custom_event', { name: 'ซื้อ' }, false],
  ['custom_event', { name: '' }, false],
  ['custom_event', { name: 'a'.repeat(65) }, false],
])('a rule may listen to %s with %j: %s', ([type, config, is]) => {
  expect(accepts(SOURCE_FILTERS[type], config)).toBe(is);
});

test('a delay is given its default, and unknown fields of a config are refused', () => {
  const messages = [{ type: 'text', text: 'x' }];
  expect(RULE_ACTION_CONFIGS.send_message.parse({ messages, delay: { seconds: 0 } })).toEqual({
    messages,
    delay: { mode: 'normal', seconds: 0, reEvaluateConditions: false },
  });
  expect(accepts(RULE_ACTION_CONFIGS.send_message, { messages, retry: 1 })).toBe(false);
});

test('an envelope of a later writer is read: unknown fields are ignored, missing ones refused', () => {
  const message = {
    ...{
      id: crypto.randomUUID(),
      type: 'attribute_changed',
      version: 9,
      publishedAt: '2026-01-01T00:00:00.000Z',
      source: 'pg-listener',
    },
    ...{ tenant: { organizationId: '1', lineOaId: '1' }, data: { tickets: [] }, priority: 1 },
  };
  expect(accepts(envelope, message)).toBe(true);
  for (const field of ['id', 'type', 'version', 'publishedAt', 'source', 'tenant']) {
    expect(accepts(envelope, { ...message, [field]: undefined })).toBe(false);
  }
});

test('no two queues share a name', () => {
  expect(new Set(QUEUES.map(({ name }) => name)).size).toBe(QUEUES.length);
});

test.for<[EventTopic, payload: unknown, read: unknown]>([
  [
    'attribute_changed',
    JSON.parse('{"changed": {"__proto__": {"to": 1}}}'),
    { changed: new Map([['__proto__', { to: 1 }]]) },
  ],
  ['attribute_changed', {}, undefined],
  ['attribute_changed', { changed: [] }, undefined],
  ['attribute_changed', { changed: { city: 'Edo' } }, undefined],
  ['form_submitted', { id: '1', form_id: '2' }, { formSubmissionId: '1', formId: '2' }],
  ['form_submitted', { id: 1, form_id: 2 }, undefined],
  [
    'campaign_click',
    { id: '1', tracked_link_id: '2', link_issue_id: null, is_robot: 'true' },
    { clickId: '1', trackedLinkId: '2', linkIssueId: null, isRobot: true },
  ],
  [
    'campaign_click',
    { id: '1', tracked_link_id: '2', link_issue_id: '3', is_robot: 'false' },
    { clickId: '1', trackedLinkId: '2', linkIssueId: '3', isRobot: false },
  ],
  ['campaign_click', { id: '1', tracked_link_id: '2', link_issue_id: null }, undefined],
  [
    'friend_track_event_inserted',
    { id: '1', type: 'follow', is_unblocked: 'true' },
    { friendTrackEventId: '1', type: 'follow', isUnblocked: true },
  ],
  [
    'friend_track_event_inserted',
    { id: '1', type: 'unfollow' }, // as it was once written
    { friendTrackEventId: '1', type: 'unfollow', isUnblocked: false },
  ],
  ['custom_event', { id: '1', name: 'purchase' }, { customEventId: '1', name: 'purchase' }],
  ['custom_event', { name: 'purchase' }, undefined],
  ['friend_track_event_inserted', { id: '1', type: 'wave' }, undefined],
  [
    'booking_event',
    { id: '1', booking_id: '2', type: 'no_show' },
    { bookingEventId: '1', bookingId: '2', type: 'no_show' },
  ],
  ['booking_event', null, undefined],
  [
    'delivery_settled',
    {
      id: '1',
      status: 'unknown',
      reason_code: 'ambiguous',
      kind: 'event',
      logical_id: 'e:1',
      scheduled_action_id: null,
    },
    {
      ...{ deliveryId: '1', status: 'unknown', reasonCode: 'ambiguous', kind: 'event' },
      ...{ logicalId: 'e:1', scheduledActionId: null },
    },
  ],
  ['delivery_settled', { id: '1', status: 'sending' }, undefined],
])('the payload of %s %j is read as %o', ([topic, payload, read]) => {
  expect(EVENT_PAYLOADS[topic].safeParse(payload).data).toEqual(read);
});

test('every topic of the outbox has a queue of its own, named after it', () => {
  const names = QUEUES.map(({ name }) => name);
  expect(names.filter((name) => EVENT_TOPICS.some((topic) => topic === name))).toEqual([...EVENT_TOPICS]);
});

const message = { type: 'text', text: 'x' };
test.for([
  ['send_message', { messages: [message] }, true],
  ['send_message', { messages: [] }, false],
  ['send_message', { audienceId: '1' }, false],
  ['switch_rich_menu', { richMenuId: '9007199254740993' }, true],
  ['switch_rich_menu', { richMenuId: 1 }, false],
  ['unlink_rich_menu', {}, true],
  ['unlink_rich_menu', { richMenuId: '1' }, false],
  ['add_to_audience', { audienceId: '1' }, true],
  ['add_to_audience', {}, false],
  ['remove_from_audience', { audienceId: '0' }, false],
  ['set_attribute', { key: '階級', value: '金 🏅' }, true],
  ['set_attribute', { key: 'points', value: 1.5 }, true],
  ['set_attribute', { key: 'vip', value: null }, true],
  ['set_attribute', { key: 'vip' }, false],
  ['set_attribute', { key: '', value: true }, false],
  ['set_attribute', { key: 'vip', value: 'a\u0000b' }, false],
  ['set_attribute', { key: 'vip', value: [] }, false],
] as const)('a rule that does %s with %j: %s', ([type, config, is]) => {
  expect(accepts(RULE_ACTION_CONFIGS[type], config)).toBe(is);
  expect(accepts(RULE_ACTION_CONFIGS[type], { ...config, delay: { seconds: 5 } })).toBe(is);
});
