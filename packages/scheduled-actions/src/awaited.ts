import type { WaitSource } from '@dueline/contracts';
import { arrayLiteral, type Db, given, sql, statement } from '@dueline/db';

/**
 * The ids of those accounts of which something may wait for facts of this kind, or hang on a date of this kind. Of the others whoever tells a fact
 * that is committed already may go on without the locks of its people and without a look; a wait that begins at this moment sees
 * the fact itself, and a row that hangs on a date reads the date that was moved, because its rule said so before (a row without a
 * rule says it with its insert only). Ask before the transaction that decides: waits while the first wait of this kind, or the first rule that will
 * wait so, is being made.
 *
 * @throws TransientError when the database was not ready.
 */
export async function whereAwaited(
  db: Db,
  lineOaIds: readonly string[],
  source: WaitSource,
): Promise<ReadonlySet<string>> {
  const rows = await readAwaited(db, { accounts: arrayLiteral(lineOaIds), source });
  return new Set(rows.map(({ id }) => id));
}

const readAwaited = statement<{ id: string }, { accounts: string; source: string }>(sql`
  select id from (select distinct id from unnest(${given('accounts')}::bigint[]) as account (id) order by id offset 0) as account
   where is_awaited(id, ${given('source')})`);
