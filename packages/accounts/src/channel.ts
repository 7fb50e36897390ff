import type { Tenant } from '@dueline/contracts';
import { column, type Db, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { openSecret, sealSecret } from './secrets.ts';
import type { Signed } from './stop.ts';

/** What a sealed channel access token is bound to: its column and its channel. */
export const tokenBinding = (channelId: string): string => `line_oa.channel_access_token/${channelId}`;
/** The same for a sealed channel secret. */
const channelSecretBinding = (channelId: string): string => `line_oa.channel_secret/${channelId}`;

/** Kinds of tokens that LINE issues for a channel's id and secret: `stateless` for 15 minutes, `short_lived` for 30 days, thirty at most. */
export type IssuedTokenKind = 'stateless' | 'short_lived';

/** How an account gets its channel access token: it has one, or has LINE issue one. */
export type ChannelCredentials =
  | { readonly kind: 'stored'; readonly channelAccessToken: string }
  | { readonly kind: IssuedTokenKind; readonly channelId: string; readonly channelSecret: string };

/** New credentials of an account. */
export type CredentialsToStore =
  | { readonly kind: 'stored'; readonly channelAccessToken: string }
  | { readonly kind: IssuedTokenKind; readonly channelSecret: string };

/** Channel ids by account id; accounts that do not exist are left out. */
export async function loadChannelIds(tx: Tx, lineOaIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { rows } = await tx.execute<{ id: string; channel_id: string }>(
    sql`select id, channel_id from line_oa where id = any(${column([...new Set(lineOaIds)], 'bigint')})`,
  );
  return new Map(rows.map((row) => [row.id, row.channel_id]));
}

type SealedRow = {
  channel_id: string;
  token_kind: ChannelCredentials['kind'];
  token: string | null;
  secret: string | null;
};

/**
 * What an account gets its channel access token by, opened with the deployment's key.
 *
 * @throws PermanentError when the account has no token or secret, or it does not open with this key.
 */
export async function getChannelCredentials(
  db: Db,
  { lineOaId, secretsKey }: { lineOaId: string; secretsKey: Buffer },
): Promise<ChannelCredentials> {
  const { rows } = await db.execute<SealedRow>(sql`
    select channel_id, token_kind, channel_access_token_sealed as token, channel_secret_sealed as secret from line_oa where id = ${lineOaId}`);
  const [account] = rows;
  const kind = account?.token_kind ?? 'stored';
  const sealed = kind === 'stored' ? account?.token : account?.secret;
  if (account === undefined || sealed === undefined || sealed === null) {
    const what = kind === 'stored' ? 'channel access token' : 'channel secret';
    throw new PermanentError(`account has no ${what}`, { context: { lineOaId } });
  }
  const channelId = account.channel_id;
  if (kind === 'stored')
    return { kind, channelAccessToken: openSecret(secretsKey, { sealed, boundTo: tokenBinding(channelId) }) };
  const channelSecret = openSecret(secretsKey, { sealed, boundTo: channelSecretBinding(channelId) });
  return { kind, channelId, channelSecret };
}

/**
 * Replaces what an account gets its token by, sealed under `secretsKey`, and writes down who did it; never what.
 *
 * @throws PermanentError when the account does not exist.
 */
export async function storeChannelCredentials(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  {
    credentials,
    secretsKey,
    by,
    reason,
  }: Signed & { readonly credentials: CredentialsToStore; readonly secretsKey: Buffer },
): Promise<void> {
  const channelId = (await loadChannelIds(tx, [lineOaId])).get(lineOaId);
  if (channelId === undefined) throw new PermanentError('account does not exist', { context: { lineOaId } });
  const change =
    credentials.kind === 'stored'
      ? sql`channel_access_token_sealed = ${sealSecret(secretsKey, {
          secret: credentials.channelAccessToken,
          boundTo: tokenBinding(channelId),
        })}`
      : sql`channel_secret_sealed = ${sealSecret(secretsKey, {
          secret: credentials.channelSecret,
          boundTo: channelSecretBinding(channelId),
        })}`;
  const { rowCount } = await tx.execute(sql`
    with stored as (
      update line_oa set token_kind = ${credentials.kind}, ${change}
       where id = ${lineOaId} and organization_id = ${organizationId} and deleted_date is null
      returning organization_id, id
    )
    insert into audit_log (organization_id, line_oa_id, operation, after, done_by, reason)
    select organization_id, id, 'credentials', jsonb_build_object('kind', ${credentials.kind}::text), ${by}, ${reason} from stored`);
  if (rowCount === 0) throw new PermanentError('account does not exist', { context: { lineOaId } });
}
