import { openAttention } from '@dueline/attention';
import { type Db, inTransaction } from '@dueline/db';
import { refusedAmong, type Settlement, settleDeliveries } from '@dueline/deliveries';

/**
 * Writes what attempts proved, and says of each whether its delivery moved. Of a switch of a menu that LINE refused, and of a webhook
 * that its receiver refused, a person hears, in the same transaction: nothing else tells of it.
 */
export async function settleAttempts(db: Db, settlements: readonly Settlement[]): Promise<boolean[]> {
  const told = new Map(settlements.filter(isToldOf).map(({ started }) => [started.id, reasonOf(started)]));
  const moved =
    told.size === 0
      ? await settleDeliveries(db, settlements)
      : await inTransaction(db, async (tx) => {
          const settled = await settleDeliveries(tx, settlements);
          const refused = await refusedAmong(
            tx,
            [...told.keys()].filter((id) => settled.has(id)),
          );
          await openAttention(
            tx,
            refused.map(({ id, ...of }) => ({
              ...{ ...of, kind: 'delivery_refused', refId: id },
              reasonCode: told.get(id) ?? 'menu_refused',
            })),
          );
          return settled;
        });
  return settlements.map(({ started }) => moved.has(started.id));
}

const TOLD_OF = { richmenu_link: 'menu_refused', richmenu_unlink: 'menu_refused', webhook: 'webhook_refused' } as const;

const reasonOf = ({ endpoint }: Settlement['started']) =>
  endpoint in TOLD_OF ? TOLD_OF[endpoint as keyof typeof TOLD_OF] : undefined;

const isToldOf = ({ started, result }: Settlement): boolean =>
  result.outcome === 'refused' && reasonOf(started) !== undefined;
