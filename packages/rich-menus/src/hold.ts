import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** A menu that a decision names, and for whose account. */
export interface RichMenuRef extends Tenant {
  readonly richMenuId: string;
}

/** What LINE calls a menu of ours, and whose it is: others of the same call may have named it too. */
export interface RichMenuAtLine {
  readonly lineOaId: string;
  readonly lineRichMenuId: string;
}

/** The live menus among these, by id; one that was deleted, or is of another account, is left out. None is deleted before the transaction ends. */
export async function holdRichMenus(
  tx: Tx,
  refs: readonly RichMenuRef[],
): Promise<ReadonlyMap<string, RichMenuAtLine>> {
  if (refs.length === 0) return new Map();
  const col = (read: (ref: RichMenuRef) => string) => column(refs.map(read), 'bigint');
  const { rows } = await tx.execute<{ id: string; line_oa_id: string; line_rich_menu_id: string }>(sql`
    select rich_menu.id, rich_menu.line_oa_id, line_rich_menu_id
      from (select distinct * from unnest(${col((ref) => ref.richMenuId)}, ${col((ref) => ref.organizationId)},
                                          ${col((ref) => ref.lineOaId)})) as ref (id, organization_id, line_oa_id)
      join rich_menu using (id, organization_id, line_oa_id)
     where deleted_date is null
     order by rich_menu.id
       for share of rich_menu`);
  return new Map(rows.map((row) => [row.id, { lineOaId: row.line_oa_id, lineRichMenuId: row.line_rich_menu_id }]));
}
