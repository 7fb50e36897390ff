import type { SourceType, Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError } from '@dueline/kernel';
import {
  createRule,
  deleteRule,
  getRuleStates,
  liveRules,
  type RuleDraft,
  setRuleEnabled,
} from '@dueline/trigger-rules';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
});
afterAll(() => shared[Symbol.asyncDispose]());

const live = (whose = tenant) => inTransaction(shared.db, (tx) => liveRules(tx, 'attribute_changed', [whose]));
const nested = (depth: number): unknown =>
  depth === 1 ? { attribute: 'a', op: 'exists' } : { not: nested(depth - 1) };
const source = (changes: object) => ({ sourceConfig: { attribute: 'plan', ...changes } });
const action = (changes: object) => ({ actionConfig: { messages: [{ type: 'text', text: 'x' }], ...changes } });
const delay = (changes: object) => action({ delay: changes });
const waiting = (changes: object) => delay({ mode: 'waitForTracking', expiresSeconds: 60, ...changes });
const byDate = (changes: object) =>
  delay({ mode: 'relativeToDate', to: { attribute: 'a' }, offsetDays: 0, ...changes });

const INVALID: [name: string, changes: object, pointer: string][] = [
  ['no name', { name: '' }, '/rule/name'],
  ['a name with NUL', { name: 'a\u0000b' }, '/rule/name'],
  ['an unknown source', { sourceType: 'moon_phase' }, '/rule/sourceType'],
  ['no attribute', { sourceConfig: {} }, '/rule/sourceConfig/attribute'],
  ['an attribute with NUL', { sourceConfig: { attribute: 'a\u0000' } }, '/rule/sourceConfig/attribute'],
  ['an unknown field', source({ form: 1 }), '/rule/sourceConfig'],
  ['a value with NUL', source({ to: 'a\u0000' }), '/rule/sourceConfig/to'],
  ['a value with a lone surrogate', source({ to: '\ud800' }), '/rule/sourceConfig/to'],
  ['a value that is an object', source({ to: {} }), '/rule/sourceConfig/to'],
  ['a value that is no number', source({ to: Number.NaN }), '/rule/sourceConfig/to'],
  [
    'an unknown comparison',
    source({ conditions: { any: [{ attribute: 'a', op: 'like', value: 'x' }] } }),
    '/rule/sourceConfig/conditions/any/0/op',
  ],
  ['conditions nested 9 deep', source({ conditions: nested(9) }), `/rule/sourceConfig/conditions${'/not'.repeat(7)}`],
  [
    'conditions nested 5,000 deep',
    source({ conditions: nested(5_000) }),
    `/rule/sourceConfig/conditions${'/not'.repeat(7)}`,
  ],
  [
    'a condition with 51 children',
    source({ conditions: { any: Array(51).fill(nested(1)) } }),
    '/rule/sourceConfig/conditions/any',
  ],
  [
    'an audience that is not there',
    source({ conditions: { not: { audience: '999999999', op: 'member' } } }),
    '/rule/sourceConfig/conditions',
  ],
  [
    'a field that its event has not',
    source({ conditions: { event: '/payload/amount', op: 'exists' } }),
    '/rule/sourceConfig/conditions/event',
  ],
  ['the filter of another source', { sourceType: 'form_submitted' }, '/rule/sourceConfig'],
  [
    'a form that is no id',
    { sourceType: 'form_submitted', sourceConfig: { formId: 'x' } },
    '/rule/sourceConfig/formId',
  ],
  ['no name of its event', { sourceType: 'custom_event', sourceConfig: {} }, '/rule/sourceConfig/name'],
  ['no message', action({ messages: [] }), '/rule/actionConfig/messages'],
  ['26 messages', action({ messages: Array(26).fill({ type: 'text', text: 'x' }) }), '/rule/actionConfig/messages'],
  ['an empty text', action({ messages: [{ type: 'text', text: '' }] }), '/rule/actionConfig/messages/0/text'],
  [
    'a text too long',
    action({ messages: [{ type: 'text', text: 'x'.repeat(5_001) }] }),
    '/rule/actionConfig/messages/0/text',
  ],
  ['an unknown message', action({ messages: [{ type: 'hologram' }] }), '/rule/actionConfig/messages/0/type'],
  ['a negative delay', action({ delay: { seconds: -1 } }), '/rule/actionConfig/delay/seconds'],
  ['half a second of delay', action({ delay: { seconds: 0.5 } }), '/rule/actionConfig/delay/seconds'],
  ['a delay of more than ten years', action({ delay: { seconds: 315_360_001 } }), '/rule/actionConfig/delay/seconds'],
  ['no delay in its delay', delay({}), '/rule/actionConfig/delay/seconds'],
  ['seconds beside days', delay({ seconds: 1, days: 1 }), '/rule/actionConfig/delay/seconds'],
  ['no months', delay({ months: 0 }), '/rule/actionConfig/delay/months'],
  ['more than ten years of months', delay({ months: 121 }), '/rule/actionConfig/delay/months'],
  ['steps over ten years together', delay({ months: 120, days: 3_650 }), '/rule/actionConfig/delay/months'],
  ['a time of day that is none', delay({ days: 1, at: '24:00' }), '/rule/actionConfig/delay/at'],
  ['an unknown mode', delay({ mode: 'someday' }), '/rule/actionConfig/delay/mode'],
  ['a wait without deadline', waiting({ expiresSeconds: undefined }), '/rule/actionConfig/delay/expiresSeconds'],
  ['two deadlines', waiting({ delaySeconds: 60 }), '/rule/actionConfig/delay/expiresSeconds'],
  ['a deadline at once', waiting({ expiresSeconds: 0 }), '/rule/actionConfig/delay/expiresSeconds'],
  ['a wait for nothing', waiting({ waits: [] }), '/rule/actionConfig/delay/waits'],
  ['a wait for 21 things', waiting({ waits: Array(21).fill({ source: 'link' }) }), '/rule/actionConfig/delay/waits'],
  ['a wait for the moon', waiting({ waits: [{ source: 'moon' }] }), '/rule/actionConfig/delay/waits/0/source'],
  [
    'a wait for a link of no id',
    waiting({ waits: [{ source: 'link', refId: 'x' }] }),
    '/rule/actionConfig/delay/waits/0/refId',
  ],
  [
    'a fact that leads to expired',
    waiting({ waits: [{ source: 'link', branch: 'expired' }] }),
    '/rule/actionConfig/delay/waits/0/branch',
  ],
  ['an unknown policy of expiry', waiting({ onExpired: { do: 'cry' } }), '/rule/actionConfig/delay/onExpired/do'],
  [
    'nothing instead',
    waiting({ onExpired: { do: 'instead', messages: [] } }),
    '/rule/actionConfig/delay/onExpired/messages',
  ],
  ['no date to hang on', byDate({ to: undefined }), '/rule/actionConfig/delay/to'],
  ['two dates to hang on', byDate({ to: { attribute: 'a', bookingId: '1' } }), '/rule/actionConfig/delay/to'],
  ['a date with NUL', byDate({ to: { attribute: 'a\u0000' } }), '/rule/actionConfig/delay/to/attribute'],
  ['no offset from a date', byDate({ offsetDays: undefined }), '/rule/actionConfig/delay/offsetSeconds'],
  [
    'a time of day beside seconds',
    byDate({ offsetDays: undefined, offsetSeconds: 1, at: '09:00' }),
    '/rule/actionConfig/delay/at',
  ],
  ['an offset of more than ten years', byDate({ offsetDays: -3_651 }), '/rule/actionConfig/delay/offsetDays'],
  ['an unknown policy of the past', byDate({ whenPast: 'laugh' }), '/rule/actionConfig/delay/whenPast'],
  ['a negative lateness', delay({ seconds: 1, maxLatenessSeconds: -1 }), '/rule/actionConfig/delay/maxLatenessSeconds'],
  ['an unknown frequency', { frequency: 'hourly' }, '/rule/frequency'],
  ['a negative cooldown', { cooldownSeconds: -1 }, '/rule/cooldownSeconds'],
  ['a cooldown too long', { cooldownSeconds: 2 ** 31 }, '/rule/cooldownSeconds'],
  ['a field nobody knows', { priority: 1 }, '/rule'],
];

test.for(INVALID)('a rule with %s is refused at %j %s', async ([, changes, pointer]) => {
  const refused = createRule(shared.db, tenant, { ...ruleDraft(), ...changes } as RuleDraft);
  await expect(refused).rejects.toBeInstanceOf(PermanentError);
  await expect(refused).rejects.toThrow(`rule is invalid at ${pointer}: `);
});

test('a rule is read as it was written, with the defaults of the seeds, in id order', async () => {
  const { frequency: _, ...plain } = ruleDraft({
    sourceConfig: { attribute: '🎉', from: 'a', to: 1.5, conditions: nested(8) as never },
  });
  const first = await createRule(shared.db, tenant, plain);
  const second = await createRule(
    shared.db,
    tenant,
    ruleDraft({ ...(action({ delay: { seconds: 315_360_000 } }) as Partial<RuleDraft<'send_message'>>) }),
  );
  await createRule(shared.db, tenant, ruleDraft({ enabled: false }));
  const stored = { ...plain.sourceConfig, conditions: { version: 1, when: nested(8) } };
  const [one, two, ...more] = await live();
  expect(one).toEqual({
    kind: 'rule',
    rule: {
      ...{ ...tenant, id: first, version: 1, sourceType: 'attribute_changed', sourceConfig: stored },
      ...{
        actionType: 'send_message',
        actionConfig: plain.actionConfig,
        frequency: 'once_per_hour',
        cooldownSeconds: 0,
        ...{ reentry: 'always', mode: 'live', isCapped: false, dropsInQuietHours: false, fullHistory: false },
      },
    },
  });
  expect(two).toMatchObject({
    rule: { id: second, actionConfig: { delay: { seconds: 315_360_000, reEvaluateConditions: false } } },
  });
  expect(more).toEqual([]);
});

const DEFAULTS: [name: string, written: object, read: object][] = [
  ['a delay', { seconds: 5 }, { mode: 'normal', seconds: 5 }],
  ['calendar steps', { months: 1, at: '09:00' }, { mode: 'normal', months: 1, at: '09:00' }],
  [
    'a wait',
    { mode: 'waitForTracking', delaySeconds: 60 },
    { mode: 'waitForTracking', delaySeconds: 60, waits: [{ source: 'link' }], onExpired: { do: 'skip' } },
  ],
  [
    'a date',
    { mode: 'relativeToDate', to: { bookingId: '7' }, offsetSeconds: -60 },
    { mode: 'relativeToDate', to: { bookingId: '7' }, offsetSeconds: -60, whenPast: 'skip' },
  ],
];

test.for(DEFAULTS)('what %s leaves out is filled in', async ([, written, read]) => {
  await createRule(shared.db, tenant, ruleDraft(delay(written) as Partial<RuleDraft<'send_message'>>));
  const [rule] = await live();
  expect(rule).toMatchObject({ rule: { actionConfig: { delay: { ...read, reEvaluateConditions: false } } } });
});

test('switching and deleting make a new version; a deleted rule stays deleted', async () => {
  const id = await createRule(shared.db, tenant, ruleDraft());
  const state = async () => {
    const states = await inTransaction(shared.db, (tx) => getRuleStates(tx, [id, id, '999999999']));
    const [version] = await columnOf(shared.db, 'select version from trigger_rule where id = $1', [id]);
    return [...states].map(([rule, of]) => `${rule === id} ${of} ${version}`);
  };
  expect(await state()).toEqual(['true live 1']);
  expect(await setRuleEnabled(shared.db, tenant, { ruleId: id, enabled: false })).toBe(true);
  expect(await state()).toEqual(['true disabled 2']);
  expect(await live()).toEqual([]);
  expect(await setRuleEnabled(shared.db, tenant, { ruleId: id, enabled: true })).toBe(true);
  expect(await deleteRule(shared.db, tenant, id)).toBe(true);
  expect(await state()).toEqual(['true deleted 4']);
  expect(await deleteRule(shared.db, tenant, id)).toBe(false);
  expect(await setRuleEnabled(shared.db, tenant, { ruleId: id, enabled: true })).toBe(false);
  expect(await live()).toEqual([]);
});

test("another tenant neither sees, switches nor deletes a rule, nor writes one for somebody else's account", async () => {
  const id = await createRule(shared.db, tenant, ruleDraft());
  const stranger = await insertTenant(shared.db);
  expect(await live(stranger)).toEqual([]);
  expect(await live({ ...stranger, lineOaId: tenant.lineOaId })).toEqual([]);
  expect(await setRuleEnabled(shared.db, stranger, { ruleId: id, enabled: false })).toBe(false);
  expect(await deleteRule(shared.db, stranger, id)).toBe(false);
  const mixed = { organizationId: stranger.organizationId, lineOaId: tenant.lineOaId };
  await expect(createRule(shared.db, mixed, ruleDraft())).rejects.toMatchObject({ code: '23503' });
});

test('only rules that listen to what happened are read, and those that cannot be read', async () => {
  const on = (sourceType: SourceType, sourceConfig: object) =>
    createRule(shared.db, tenant, { ...ruleDraft(), sourceType, sourceConfig } as RuleDraft<
      'send_message',
      SourceType
    >);
  const plan = await on('attribute_changed', { attribute: 'plan' });
  await on('attribute_changed', { attribute: 'Plan' });
  const form = await on('form_submitted', { formId: '7' });
  const anyForm = await on('form_submitted', {});
  await on('form_submitted', { formId: '8' });
  const cart = await on('custom_event', { name: 'cart' });
  await on('custom_event', { name: 'purchase' });
  const follow = await on('friend_track_event_inserted', {});
  const { id: broken } = await insertRow(shared.db, 'trigger_rule', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, name: 'foreign' },
    ...{ source_type: 'attribute_changed', source_config: {}, action_type: 'send_message', action_config: {} },
  });
  const read = async (sourceType: SourceType, keys: string[]) =>
    (await inTransaction(shared.db, (tx) => liveRules(tx, sourceType, [{ ...tenant, keys }]))).map((one) =>
      one.kind === 'rule' ? one.rule.id : one.row.id,
    );
  expect(await read('attribute_changed', ['plan', 'city', 'plan'])).toEqual([plan, broken]);
  expect(await read('attribute_changed', ['"'])).toEqual([broken]);
  expect(await read('form_submitted', ['7'])).toEqual([form, anyForm]);
  expect(await read('custom_event', ['cart'])).toEqual([cart]);
  expect(await read('friend_track_event_inserted', [])).toEqual([follow]);
  expect(await read('campaign_click', ['7'])).toEqual([]);
});

const BROKEN: [name: string, columns: object, problem: string][] = [
  ['source', { source_config: { attribute: 7 } }, '/sourceConfig/attribute'],
  ['source that is no object', { source_config: '"text"' }, '/sourceConfig'],
  ['source that is JSON null', { source_config: 'null' }, '/sourceConfig'],
  ['action', { action_config: { messages: [{ type: 'sticker' }] } }, '/actionConfig/messages/0/type'],
  ['action without messages', { action_config: {} }, '/actionConfig/messages'],
];

test.for(BROKEN)(
  'a rule whose %s another service broke is told as invalid, and harms no other',
  async ([, columns, problem]) => {
    const { id } = await insertRow(shared.db, 'trigger_rule', {
      ...{
        organization_id: tenant.organizationId,
        line_oa_id: tenant.lineOaId,
        name: 'foreign',
        source_type: 'attribute_changed',
      },
      ...{
        source_config: { attribute: 'plan' },
        action_type: 'send_message',
        action_config: ruleDraft().actionConfig,
        ...columns,
      },
    });
    const good = await createRule(shared.db, tenant, ruleDraft());
    const [broken, fine] = await live();
    expect(broken).toMatchObject({ kind: 'invalid', row: { id }, problem: expect.stringContaining(`${problem}: `) });
    expect(fine).toMatchObject({ kind: 'rule', rule: { id: good } });
  },
);
