import type { Tenant, WaitSource } from '@dueline/contracts';
import { type Db, sql, translateError } from '@dueline/db';

/**
 * Whether something of the account may wait for facts of this kind, or hang on a date of this kind. False: whoever tells a fact
 * that is committed already may go on without the locks of its people and without a look; a wait that begins at this moment sees
 * the fact itself, and a row that hangs on a date reads the date that was moved, because its rule said so before (a row without a
 * rule says it with its insert only). Ask before the transaction that decides: waits while the first wait of this kind, or the first rule that will
 * wait so, is being made.
 *
 * @throws TransientError when the database was not ready.
 */
export async function isAwaited(db: Db, { lineOaId }: Tenant, source: WaitSource): Promise<boolean> {
  try {
    const { rows } = await db.execute<{ awaited: boolean }>(sql`select is_awaited(${lineOaId}, ${source}) as awaited`);
    return rows[0]?.awaited === true;
  } catch (error) {
    throw translateError(error);
  }
}
