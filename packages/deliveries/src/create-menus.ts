import type { Tx } from '@dueline/db';
import type { DeliveryToCreate } from './create.ts';
import { type CreatedDelivery, insertDeliveries } from './insert.ts';

/** A decided switch of the rich menu that one person sees. */
export interface MenuDeliveryToCreate extends Omit<DeliveryToCreate, 'request'> {
  /** As LINE names it; null: no menu of their own. */
  readonly lineRichMenuId: string | null;
}

/**
 * The same as createDeliveries for switches of rich menus. Who made one must say in the same transaction which wish it carries: a switch
 * without a wish is never started. LINE takes no retry key for menus; theirs only name the send in its attempts.
 */
export const createMenuDeliveries = (tx: Tx, sends: readonly MenuDeliveryToCreate[]): Promise<CreatedDelivery[]> =>
  insertDeliveries(
    tx,
    sends.map(({ lineRichMenuId, ...send }) => ({
      ...send,
      endpoint: lineRichMenuId === null ? 'richmenu_unlink' : 'richmenu_link',
      ordinal: 0,
      splitPath: '',
      campaignId: null,
      chunkNo: null,
      body: { own: `{"to":${JSON.stringify(send.userId)},`, shared: `"richMenuId":${JSON.stringify(lineRichMenuId)}}` },
      deliverUntil: null,
    })),
  );
