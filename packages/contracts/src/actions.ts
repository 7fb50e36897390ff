import { z } from 'zod';
import { isStorable, NOT_STORABLE } from './storable.ts';

/** LINE's limit of message objects in one request. Source: LINE Messaging API reference, "Send push message". */
export const MAX_MESSAGES_PER_REQUEST = 5;
/** LINE's limit of a text message in UTF-16 units. Source: LINE Messaging API reference, "Text message". */
export const MAX_TEXT_LENGTH = 5_000;
/** Longest delay of an action in seconds: ten years, so that a typing error cannot reach beyond what people plan. */
export const MAX_DELAY_SECONDS = 315_360_000;

/** Text that LINE can carry and Postgres can store: not empty, no NUL, no lone surrogate. */
const messageText = z.string().min(1).max(MAX_TEXT_LENGTH).refine(isStorable, NOT_STORABLE);

export const textMessage = z.strictObject({ type: z.literal('text'), text: messageText });
export type TextMessage = z.infer<typeof textMessage>;

/** When the action shall happen, counted from the decision. */
export const delay = z.strictObject({
  /** Whole seconds from the decision; 0 makes a row that is due at once. */
  seconds: z.number().int().min(0).max(MAX_DELAY_SECONDS),
  /** Evaluate the rule's conditions once more when the action comes due, and cancel it when they no longer hold. */
  reEvaluateConditions: z.boolean().default(false),
});
export type Delay = z.infer<typeof delay>;

export const sendMessageConfig = z.strictObject({
  messages: z.array(textMessage).min(1).max(MAX_MESSAGES_PER_REQUEST),
  delay: delay.optional(),
});
export type SendMessageConfig = z.infer<typeof sendMessageConfig>;

/** The actions a rule can name so far. The type is a column (`action_type`), its parameters another (`action_config`). */
export const ACTION_TYPES = ['send_message'] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

/** An action to perform, whoever decided it: a rule that fires at once or a row of scheduled_action that came due. */
export interface ActionRequest {
  readonly actionType: ActionType;
  readonly actionConfig: SendMessageConfig;
}
