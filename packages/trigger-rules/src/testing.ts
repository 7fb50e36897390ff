import type { RuleDraft } from './author.ts';

/** A rule that sends one text whenever `plan` changes, without a limit. */
export function ruleDraft(changes: Partial<RuleDraft<'send_message'>> = {}): RuleDraft<'send_message'> {
  return {
    name: 'welcome gold',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'plan' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: 'hello' }] },
    frequency: 'every_time',
    ...changes,
  };
}
