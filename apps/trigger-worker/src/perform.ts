import { loadChannelIds } from '@dueline/accounts';
import type { ActionRequest, TextMessage } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type CreatedDelivery, createDeliveries, type DeliveryToCreate } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';

/** An action that was decided for one person, and what it stands for. */
export interface ActionToPerform extends Omit<DeliveryToCreate, 'channelId' | 'request'> {
  readonly request: ActionRequest;
  /** What it says, in the words that the person gets. */
  readonly messages: readonly TextMessage[];
}

/**
 * Does what decided actions say, in the transaction that decides: what LINE is asked to do becomes rows of the ledger.
 * What stands there already is left out of what comes back.
 */
export async function performActions(tx: Tx, actions: readonly ActionToPerform[]): Promise<CreatedDelivery[]> {
  if (actions.length === 0) return [];
  const channelIds = await loadChannelIds(
    tx,
    actions.map(({ lineOaId }) => lineOaId),
  );
  return createDeliveries(
    tx,
    actions.map((action) => {
      const channelId = channelIds.get(action.lineOaId);
      if (channelId === undefined) throw new Error('the account of an action does not exist');
      const { actionType } = action.request;
      if (actionType !== 'send_message') throw new PermanentError(`nothing performs ${actionType}`);
      return { ...action, channelId, request: { actionType, actionConfig: { messages: action.messages } } };
    }),
  );
}
