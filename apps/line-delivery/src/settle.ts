import { openAttention } from '@dueline/attention';
import { type Db, inTransaction } from '@dueline/db';
import { refusedAmong, type Settlement, settleDeliveries } from '@dueline/deliveries';

/**
 * Writes what attempts proved, and says of each whether its delivery moved. Of a switch of a menu that LINE refused a person hears, in the same
 * transaction: nothing else tells that somebody goes on seeing the wrong one.
 */
export async function settleAttempts(db: Db, settlements: readonly Settlement[]): Promise<boolean[]> {
  const refusedMenus = settlements.filter(isRefusedMenu).map(({ started }) => started.id);
  const moved =
    refusedMenus.length === 0
      ? await settleDeliveries(db, settlements)
      : await inTransaction(db, async (tx) => {
          const settled = await settleDeliveries(tx, settlements);
          const refused = await refusedAmong(
            tx,
            refusedMenus.filter((id) => settled.has(id)),
          );
          const kind = 'delivery_refused' as const;
          await openAttention(
            tx,
            refused.map(({ id, ...of }) => ({ ...of, kind, refId: id, reasonCode: 'menu_refused' })),
          );
          return settled;
        });
  return settlements.map(({ started }) => moved.has(started.id));
}

const isRefusedMenu = ({ started, result }: Settlement): boolean =>
  result.outcome === 'refused' && (started.endpoint === 'richmenu_link' || started.endpoint === 'richmenu_unlink');
