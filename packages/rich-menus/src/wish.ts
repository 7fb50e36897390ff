import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** That a person shall see a menu from now on, and the delivery that asks LINE for it. */
export interface RichMenuWish extends Tenant {
  readonly userId: string;
  /** Null: no menu of their own. */
  readonly richMenuId: string | null;
  readonly deliveryId: string;
}

/**
 * Makes these the last wishes of their people, in the order given, in the transaction that decides them: the number of a person grows by
 * one with each. Only for deliveries that this transaction made, so that a decision that comes twice is one wish.
 *
 * Holds the people's rows in order, so that two transactions that wish for the same people wait for each other.
 */
export async function wishRichMenus(tx: Tx, wishes: readonly RichMenuWish[]): Promise<void> {
  if (wishes.length === 0) return;
  const col = (read: (wish: RichMenuWish) => string | null, type: 'bigint' | 'text') => column(wishes.map(read), type);
  await tx.execute(sql`
    with wish as materialized (
      select *, row_number() over (partition by line_oa_id, user_id order by place) as nth
        from unnest(${col((wish) => wish.organizationId, 'bigint')}, ${col((wish) => wish.lineOaId, 'bigint')},
                    ${col((wish) => wish.userId, 'text')}, ${col((wish) => wish.richMenuId, 'bigint')},
                    ${col((wish) => wish.deliveryId, 'bigint')})
             with ordinality as wish (organization_id, line_oa_id, user_id, rich_menu_id, delivery_id, place)
    ), last_wish as (
      select distinct on (line_oa_id, user_id collate "C") * from wish order by line_oa_id, user_id collate "C", nth desc
    ), numbered as (
      insert into user_rich_menu as person (line_oa_id, user_id, organization_id, rich_menu_id, action_seq)
      select line_oa_id, user_id, organization_id, rich_menu_id, nth from last_wish order by line_oa_id, user_id collate "C"
          on conflict (line_oa_id, user_id) do update
         set rich_menu_id = excluded.rich_menu_id, action_seq = person.action_seq + excluded.action_seq, updated_date = app_now()
      returning line_oa_id, user_id, action_seq
    )
    insert into rich_menu_wish (line_oa_id, user_id, action_seq, organization_id, rich_menu_id, delivery_id)
    select wish.line_oa_id, wish.user_id, numbered.action_seq - last_wish.nth + wish.nth, wish.organization_id, wish.rich_menu_id, wish.delivery_id
      from wish join numbered using (line_oa_id, user_id) join last_wish using (line_oa_id, user_id)`);
}
