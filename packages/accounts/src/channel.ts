import { column, type Db, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { openSecret } from './secrets.ts';

/** What a sealed channel access token is bound to: its column and its channel. */
export const tokenBinding = (channelId: string): string => `line_oa.channel_access_token/${channelId}`;

/** Channel ids by account id; accounts that do not exist are left out. */
export async function loadChannelIds(tx: Tx, lineOaIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await tx.execute<{ id: string; channel_id: string }>(
    sql`select id, channel_id from line_oa where id = any(${column([...new Set(lineOaIds)], 'bigint')})`,
  );
  return new Map(rows.map((row) => [row.id, row.channel_id]));
}

/**
 * The channel access token of an account, opened with the deployment's key.
 *
 * @throws PermanentError when the account has no token, or its token does not open with this key.
 */
export async function getChannelAccessToken(
  db: Db,
  { lineOaId, secretsKey }: { lineOaId: string; secretsKey: Buffer },
): Promise<string> {
  const { rows } = await db.execute<{ channel_id: string; sealed: string | null }>(
    sql`select channel_id, channel_access_token_sealed as sealed from line_oa where id = ${lineOaId}`,
  );
  const [account] = rows;
  if (account === undefined || account.sealed === null) {
    throw new PermanentError('account has no channel access token', { context: { lineOaId } });
  }
  return openSecret(secretsKey, { sealed: account.sealed, boundTo: tokenBinding(account.channel_id) });
}
