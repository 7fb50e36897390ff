import { type ActionRequest, type Recipient, type Rendered, renderMessages } from '@dueline/contracts';

/**
 * What an action says to its person, as the person is at the decision: these are the words that are stored, whatever becomes of the person
 * later. An action without messages says nothing. Pure.
 */
export function wordingFor(request: ActionRequest | undefined, person: Recipient | undefined): Rendered {
  if (request?.actionType !== 'send_message' || person === undefined) return { messages: [] };
  return renderMessages(request.actionConfig.messages, person);
}
