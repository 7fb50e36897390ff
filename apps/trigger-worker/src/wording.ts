import {
  type ActionRequest,
  type Recipient,
  renderMessages,
  renderWebhookData,
  type TextMessage,
  type WebhookData,
} from '@dueline/contracts';

/** What an action says, as its person or its receiver gets it, nothing left to fill in. */
export interface Words {
  readonly messages: readonly TextMessage[];
  /** Of a webhook. */
  readonly data?: WebhookData;
}

/**
 * What an action says to or of its person, as the person is at the decision: these are the words that are stored, whatever becomes of the person
 * later. An action without words says nothing. Pure.
 */
export function wordingFor(
  request: ActionRequest | undefined,
  person: Recipient | undefined,
): Words | { readonly problem: string } {
  if (person === undefined) return NOTHING;
  if (request?.actionType === 'send_message') return renderMessages(request.actionConfig.messages, person);
  if (request?.actionType !== 'call_webhook') return NOTHING;
  const rendered = renderWebhookData(request.actionConfig.data ?? {}, person);
  return 'problem' in rendered ? rendered : { ...NOTHING, ...rendered };
}

const NOTHING: Words = { messages: [] };
