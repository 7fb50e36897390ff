import {
  attributeChangedConfig,
  bigintId,
  condition,
  EVENT_PAYLOADS,
  EVENT_TOPICS,
  type EventTopic,
  envelope,
  fence,
  lineUserId,
  MAX_CONDITION_DEPTH,
  QUEUES,
  RULE_ACTION_CONFIGS,
  tickets,
} from '@dueline/contracts';
import { expect, test } from 'vitest';

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;
const leaf = { attribute: 'a', op: 'exists' };
const nested = (depth: number): unknown => (depth === 1 ? leaf : { all: [nested(depth - 1)] });

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

test('conditions nest as deep as the limit and no deeper, and have at most 50 children', () => {
  expect(accepts(condition, nested(MAX_CONDITION_DEPTH))).toBe(true);
  expect(accepts(condition, nested(MAX_CONDITION_DEPTH + 1))).toBe(false);
  expect(accepts(condition, nested(3_000))).toBe(false);
  expect(accepts(condition, { any: Array(50).fill(leaf) })).toBe(true);
  expect(accepts(condition, { any: Array(51).fill(leaf) })).toBe(false);
  expect(accepts(condition, { all: [], any: [] })).toBe(false);
});

test('refusing a wide and deep condition is quick', () => {
  const wide = (depth: number): unknown => (depth === 1 ? { attribute: 'a' } : { all: Array(4).fill(wide(depth - 1)) });
  const started = performance.now();
  expect(accepts(condition, wide(MAX_CONDITION_DEPTH))).toBe(false);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test.for([
  ['text', 'gold', true],
  ['emoji', '🎉', true],
  ['NUL', 'a\u0000', false],
  ['a lone surrogate', '\ud800', false],
  ['too long a text', 'x'.repeat(4_097), false],
  ['infinity', Number.POSITIVE_INFINITY, false],
  ['null', null, false],
] as const)('a value to compare with may be %s: %s', ([, to, is]) => {
  expect(accepts(attributeChangedConfig, { attribute: 'a', to })).toBe(is);
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
  ['friend_track_event_inserted', { id: '1', type: 'follow' }, { friendTrackEventId: '1', type: 'follow' }],
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
