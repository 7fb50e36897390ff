import { requirements } from '@dueline/conditions';
import { column, sql, type Tx } from '@dueline/db';
import type { RuleSource } from './sources.ts';

/** Whether every audience that the conditions of a source ask about is there, in the account whose rows `tx` sees. */
export async function hasAudiences(tx: Tx, { conditions }: RuleSource['sourceConfig']): Promise<boolean> {
  if (conditions === undefined) return true;
  const audiences = [...requirements(conditions.when).audiences];
  if (audiences.length === 0) return true;
  const { rowCount } = await tx.execute(sql`
    select from audience where id = any(${column(audiences, 'bigint')}) and deleted_date is null`);
  return rowCount === audiences.length;
}
