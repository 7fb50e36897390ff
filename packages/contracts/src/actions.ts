import { z } from 'zod';
import { messageList } from './content.ts';
import { delay } from './delays.ts';

export const sendMessageConfig = z.strictObject({
  messages: messageList,
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
