import { loadChannelIds } from '@dueline/accounts';
import type { ActionRequest } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type CreatedDelivery, createDeliveries, type DeliveryToCreate } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import { isMenuRequest, type MenuToSwitch, switchMenus } from './switch-menus.ts';

/** An action that was decided for one person, and what it stands for. */
export interface ActionToPerform extends Omit<DeliveryToCreate, 'channelId' | 'request'> {
  readonly request: ActionRequest;
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
  const sends: DeliveryToCreate[] = [];
  const menus: MenuToSwitch[] = [];
  for (const action of actions) {
    const channelId = channelIds.get(action.lineOaId);
    if (channelId === undefined) throw new Error('the account of an action does not exist');
    const { request } = action;
    if (isMenuRequest(request)) menus.push({ ...action, channelId, request });
    else if (request.actionType === 'send_message') sends.push({ ...action, channelId, request });
    else throw new PermanentError(`nothing performs ${request.actionType}`);
  }
  return [...(await createDeliveries(tx, sends)), ...(await switchMenus(tx, menus))];
}
