import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import { createMenuDeliveries, settleDeliveries, startMenuDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { createRichMenu, wishRichMenus } from '@dueline/rich-menus';

/** A person who got a menu and lost it again, as the apps do it. */
export async function switchMenus(db: Db, tenant: Tenant, { userId }: { userId: string }): Promise<void> {
  const [channelId = ''] = await columnOf(db, 'select channel_id from line_oa where id = $1', [tenant.lineOaId]);
  const lineRichMenuId = 'richmenu-1';
  const richMenuId = await createRichMenu(db, tenant, { name: 'menu', lineRichMenuId });
  const send = { ...deliveryToCreate(tenant, { userId, channelId: String(channelId) }) };
  for (const menu of [
    { lineRichMenuId, richMenuId },
    { lineRichMenuId: null, richMenuId: null },
  ]) {
    const tickets = await inTransaction(db, async (tx): Promise<Ticket[]> => {
      const logicalId = `${crypto.randomUUID()}:1`;
      const made = await createMenuDeliveries(tx, [{ ...send, logicalId, lineRichMenuId: menu.lineRichMenuId }]);
      const wish = { ...tenant, userId, richMenuId: menu.richMenuId };
      await wishRichMenus(
        tx,
        made.map(({ id }) => ({ ...wish, deliveryId: id })),
      );
      return made;
    });
    const start = { claimedBy: 'line:1', leaseSeconds: 60, settleSeconds: 60 };
    const result = { outcome: 'accepted', httpStatus: 200, lineRequestId: 'request' } as const;
    const started = await startMenuDeliveries(db, tenant, { tickets, start });
    await settleDeliveries(
      db,
      started.map((menuDelivery) => ({ started: menuDelivery, result })),
    );
  }
}

/** For each invariant of menus the faults that it must find, alone. */
export const MENU_PLANTS: readonly (readonly [id: string, fault: string, sql: string])[] = [
  ['I31.wish', 'a wish that was lost', 'update user_rich_menu set action_seq = action_seq + 1'],
  ['I31.wish', 'another menu than the last one', 'update user_rich_menu set rich_menu_id = (select id from rich_menu)'],
  [
    'I31.request',
    'LINE is asked about somebody else',
    `update delivery set user_id = 'U0' where endpoint = 'richmenu_link'`,
  ],
  [
    'I31.order',
    'the older wish was asked for last',
    `update delivery_attempt set started_at = clock_timestamp() + interval '1 minute'
       from delivery where delivery.id = delivery_id and endpoint = 'richmenu_link'`,
  ],
];
