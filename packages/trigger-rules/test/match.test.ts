import type { AttributeChange, AttributeChangedConfig, Delay } from '@dueline/contracts';
import { conditionsStillHold, matchAttributeChange, planAction, type TriggerRule } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';

type Side = Omit<AttributeChangedConfig, 'attribute'>;
const GOLD: AttributeChange = { from: 'silver', to: 'gold' };
const isFan: Side['conditions'] = { attribute: 'fan', op: 'eq', value: true };

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
  ['the attribute was removed and no side is named', {}, { from: 'gold' }, {}, 'matches'],
  ['the value is an object', { to: 'x' }, { to: { x: 1 } }, {}, 'value_not_matched'],
  ['the conditions hold', { to: 'gold', conditions: isFan }, GOLD, { fan: true }, 'matches'],
  ['the conditions do not hold', { to: 'gold', conditions: isFan }, GOLD, {}, 'conditions_not_met'],
  ['the conditions were emptied', { conditions: { all: [] } }, GOLD, {}, 'conditions_not_met'],
];

test.for(MATCHES)('when %s: $4', ([, side, change, attributes, result]) => {
  const match = matchAttributeChange({ attribute: 'plan', ...side }, change, new Map(Object.entries(attributes)));
  expect(match.matches ? 'matches' : match.reason).toBe(result);
});

test('what did not match because of a condition says which', () => {
  expect(matchAttributeChange({ attribute: 'plan', conditions: isFan }, GOLD, new Map())).toEqual({
    matches: false,
    reason: 'conditions_not_met',
    leaves: [{ attribute: 'fan', op: 'eq', holds: false }],
  });
});

const STILL: [name: string, Side, attributes: object, holds: boolean][] = [
  ['nothing was named', {}, {}, true],
  ['only from was named', { from: 'silver' }, { plan: 'other' }, true],
  ['the value stayed', { to: 'gold' }, { plan: 'gold' }, true],
  ['the value went', { to: 'gold' }, { plan: 'silver' }, false],
  ['the attribute was removed', { to: 'gold' }, {}, false],
  ['value and conditions hold', { to: 'gold', conditions: isFan }, { plan: 'gold', fan: true }, true],
  ['the conditions hold no more', { to: 'gold', conditions: isFan }, { plan: 'gold', fan: false }, false],
  ['the value went, the conditions hold', { to: 'gold', conditions: isFan }, { plan: 'x', fan: true }, false],
  ['the conditions were emptied', { conditions: { any: [] } }, {}, false],
];

test.for(STILL)('when it comes due and %s: $3', ([, side, attributes, holds]) => {
  expect(conditionsStillHold({ attribute: 'plan', ...side }, new Map(Object.entries(attributes))).holds).toBe(holds);
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
    ...{ reentry: 'always', mode: 'live', isCapped: false, dropsInQuietHours: false },
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
