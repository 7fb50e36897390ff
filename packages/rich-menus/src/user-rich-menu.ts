import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql } from '@dueline/db';

/** Which menu a person shall see, and what became of asking LINE for it. */
export interface UserRichMenu {
  /** Null: no menu of their own. */
  readonly richMenuId: string | null;
  /** How many wishes there were for this person. */
  readonly actionSeq: string;
  readonly deliveryId: string;
  /** Status of that delivery; LINE shows the menu when it is `accepted`, to whoever is a friend. */
  readonly status: string;
}

/** The last wish for a person; undefined: there never was one. */
export async function getUserRichMenu(
  db: Db,
  tenant: Tenant,
  { userId }: { userId: string },
): Promise<UserRichMenu | undefined> {
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<{ [key in keyof UserRichMenu]: UserRichMenu[key] }>(sql`
      select person.rich_menu_id as "richMenuId", action_seq as "actionSeq", delivery_id as "deliveryId", status
        from user_rich_menu as person
        join rich_menu_wish using (line_oa_id, user_id, action_seq)
        join delivery on delivery.id = delivery_id
       where person.line_oa_id = ${tenant.lineOaId} and person.user_id = ${userId}`);
    return rows[0];
  });
}
