import type { ActionRequest } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type CreatedDelivery, createMenuDeliveries, type DeliveryToCreate } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import { holdRichMenus, wishRichMenus } from '@dueline/rich-menus';

type MenuRequest = ActionRequest<'switch_rich_menu' | 'unlink_rich_menu'>;

/** A decided switch of the menu that one person sees. */
export interface MenuToSwitch extends Omit<DeliveryToCreate, 'request'> {
  readonly request: MenuRequest;
}

export const isMenuRequest = (request: ActionRequest): request is MenuRequest =>
  request.actionType === 'switch_rich_menu' || request.actionType === 'unlink_rich_menu';

/** The menu that the action wants a person to see; null: none of their own. */
const wantedMenu = ({ actionType, actionConfig }: MenuRequest): string | null =>
  actionType === 'switch_rich_menu' ? actionConfig.richMenuId : null;

/**
 * Makes these switches the last wishes of their people, in the order given, each with the row of the ledger that asks LINE for it. What
 * stands there already is no wish anew, and left out of what comes back.
 *
 * @throws PermanentError when a menu does not exist in the account.
 */
export async function switchMenus(tx: Tx, switches: readonly MenuToSwitch[]): Promise<CreatedDelivery[]> {
  if (switches.length === 0) return [];
  const wanted = switches.map((action) => ({ ...action, richMenuId: wantedMenu(action.request) }));
  const menus = await holdRichMenus(
    tx,
    wanted.flatMap(({ richMenuId, ...of }) => (richMenuId === null ? [] : [{ ...of, richMenuId }])),
  );
  const sends = wanted.map((action) => ({ ...action, lineRichMenuId: lineMenuOf(action, menus) }));
  const created = await createMenuDeliveries(tx, sends);
  const made = new Map(created.map(({ logicalId, id }) => [logicalId, id]));
  await wishRichMenus(
    tx,
    wanted.flatMap(({ logicalId, ...wish }) => {
      const deliveryId = made.get(logicalId);
      return deliveryId === undefined ? [] : [{ ...wish, deliveryId }];
    }),
  );
  return created;
}

function lineMenuOf(
  { lineOaId, richMenuId }: { lineOaId: string; richMenuId: string | null },
  menus: Awaited<ReturnType<typeof holdRichMenus>>,
): string | null {
  if (richMenuId === null) return null;
  const menu = menus.get(richMenuId);
  if (menu?.lineOaId !== lineOaId) throw new PermanentError(`rich menu ${richMenuId} does not exist in the account`);
  return menu.lineRichMenuId;
}
