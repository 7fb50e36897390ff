import { isStorable, NOT_STORABLE, type Tenant } from '@dueline/contracts';
import { type Db, errorCode, inTenant, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';

const richMenuDraft = z.strictObject({
  name: z.string().min(1).max(200).refine(isStorable, NOT_STORABLE),
  /** As LINE gave it when the menu was made there. */
  lineRichMenuId: z.string().regex(/^richmenu-[0-9A-Za-z]{1,64}$/, 'must be a rich menu id of LINE, richmenu-…'),
});

/** A menu that exists at LINE, as a person registers it. */
export type RichMenuDraft = z.input<typeof richMenuDraft>;

/** A rich menu of an account. */
export interface RichMenu {
  readonly id: string;
  readonly name: string;
  readonly lineRichMenuId: string;
}

/**
 * Registers a menu that the account has at LINE, and returns its id here. Whether LINE has it shows when it is linked.
 *
 * @throws PermanentError whose message names the wrong field, or when the account has this menu already.
 */
export async function createRichMenu(db: Db, tenant: Tenant, draft: RichMenuDraft): Promise<string> {
  const parsed = richMenuDraft.safeParse(draft);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new PermanentError(`rich menu is invalid at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? 'invalid'}`);
  }
  const { name, lineRichMenuId } = parsed.data;
  try {
    return await inTenant(db, tenant, async (tx) => {
      const { rows } = await tx.execute<{ id: string }>(sql`
        insert into rich_menu (organization_id, line_oa_id, name, line_rich_menu_id)
        values (${tenant.organizationId}, ${tenant.lineOaId}, ${name}, ${lineRichMenuId}) returning id`);
      if (rows[0] === undefined) throw new Error('insert returned no row');
      return rows[0].id;
    });
  } catch (error) {
    if (errorCode(error) === '23505') throw new PermanentError(`the account has ${lineRichMenuId} already`);
    throw error;
  }
}

/**
 * Deletes a menu softly: rules that name it cannot be made any more, and what is decided from then on fails. Who sees it goes on seeing it,
 * until it is deleted at LINE. False: no such live menu.
 */
export async function deleteRichMenu(db: Db, tenant: Tenant, { id }: { id: string }): Promise<boolean> {
  return inTenant(db, tenant, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update rich_menu set deleted_date = app_now(), updated_date = app_now() where id = ${id} and deleted_date is null`);
    return rowCount === 1;
  });
}

/** The live menus of an account, oldest first. */
export async function listRichMenus(db: Db, tenant: Tenant): Promise<RichMenu[]> {
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<{ [key in keyof RichMenu]: RichMenu[key] }>(sql`
      select id, name, line_rich_menu_id as "lineRichMenuId" from rich_menu where deleted_date is null order by id`);
    return rows;
  });
}
