import { z } from 'zod';
import { messageList } from './content.ts';
import { delay } from './delays.ts';
import { bigintId } from './ids.ts';
import { attributeName } from './names.ts';
import { scalar } from './sources.ts';
import { callWebhookConfig } from './webhooks.ts';

const sendMessageConfig = z.strictObject({ messages: messageList });
const audienceConfig = z.strictObject({ audienceId: bigintId });

/** The parameters (`action_config`) of each action that a rule can name (`action_type`). Ids are those of our own rows. */
export const ACTION_CONFIGS = {
  send_message: sendMessageConfig,
  switch_rich_menu: z.strictObject({ richMenuId: bigintId }),
  unlink_rich_menu: z.strictObject({}),
  add_to_audience: audienceConfig,
  remove_from_audience: audienceConfig,
  /** null removes the attribute. */
  set_attribute: z.strictObject({ key: attributeName, value: scalar.nullable() }),
  call_webhook: callWebhookConfig,
} as const;

export type ActionType = keyof typeof ACTION_CONFIGS;
export type ActionConfig<Type extends ActionType = ActionType> = z.infer<(typeof ACTION_CONFIGS)[Type]>;

export const ACTION_TYPES = Object.keys(ACTION_CONFIGS) as [ActionType, ...ActionType[]];

/** Who performs an action: LINE or a receiver on the web, whom a delivery asks, or our own database, in the transaction that decides. */
export const PERFORMED_BY = {
  send_message: 'line',
  switch_rich_menu: 'line',
  unlink_rich_menu: 'line',
  add_to_audience: 'database',
  remove_from_audience: 'database',
  set_attribute: 'database',
  call_webhook: 'receiver',
} as const satisfies Record<ActionType, 'line' | 'receiver' | 'database'>;

/** An action to perform, whoever decided it: a rule that fires at once or a row of scheduled_action that came due. */
export type ActionRequest<Type extends ActionType = ActionType> = {
  [T in Type]: { readonly actionType: T; readonly actionConfig: ActionConfig<T> };
}[Type];

const inRule = <Shape extends z.ZodRawShape>(config: z.ZodObject<Shape, z.core.$strict>) =>
  config.extend({ delay: delay.optional() });

/** What a rule says of its action: the parameters, and when it shall happen; left out: at once. */
export const RULE_ACTION_CONFIGS = {
  send_message: inRule(ACTION_CONFIGS.send_message),
  switch_rich_menu: inRule(ACTION_CONFIGS.switch_rich_menu),
  unlink_rich_menu: inRule(ACTION_CONFIGS.unlink_rich_menu),
  add_to_audience: inRule(ACTION_CONFIGS.add_to_audience),
  remove_from_audience: inRule(ACTION_CONFIGS.remove_from_audience),
  set_attribute: inRule(ACTION_CONFIGS.set_attribute),
  call_webhook: inRule(ACTION_CONFIGS.call_webhook),
} as const satisfies Record<ActionType, z.ZodType>;

/** The action of a rule, checked. */
export type RuleAction<Type extends ActionType = ActionType> = {
  [T in Type]: { readonly actionType: T; readonly actionConfig: z.infer<(typeof RULE_ACTION_CONFIGS)[T]> };
}[Type];

/** The action of a rule as a person writes it. */
export type RuleActionDraft<Type extends ActionType = ActionType> = {
  [T in Type]: { readonly actionType: T; readonly actionConfig: z.input<(typeof RULE_ACTION_CONFIGS)[T]> };
}[Type];
