import { randomBytes } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { loadChannelIds } from './channel.ts';
import { openSecret, sealSecret } from './secrets.ts';
import type { Signed } from './stop.ts';

/** What a sealed webhook secret is bound to: its column and its channel. */
const webhookBinding = (channelId: string): string => `line_oa.webhook_secret/${channelId}`;
/** Of the key in a webhook secret. Source: Standard Webhooks 1.0.0 wants 24 to 64. */
const KEY_BYTES = 32;

/**
 * Gives an account a new secret that its webhooks are signed with from then on, sealed under `secretsKey`, and writes down who did it.
 *
 * @returns The secret, `whsec_` and a key in base64: it is told here only, for whoever receives the webhooks.
 * @throws PermanentError when the account does not exist.
 */
export async function renewWebhookSecret(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  { secretsKey, by, reason }: Signed & { readonly secretsKey: Buffer },
): Promise<string> {
  const channelId = (await loadChannelIds(tx, [lineOaId])).get(lineOaId);
  if (channelId === undefined) throw new PermanentError('account does not exist', { context: { lineOaId } });
  const secret = `whsec_${randomBytes(KEY_BYTES).toString('base64')}`;
  const sealed = sealSecret(secretsKey, { secret, boundTo: webhookBinding(channelId) });
  const { rowCount } = await tx.execute(sql`
    with stored as (
      update line_oa set webhook_secret_sealed = ${sealed}
       where id = ${lineOaId} and organization_id = ${organizationId} and deleted_date is null
      returning organization_id, id
    )
    insert into audit_log (organization_id, line_oa_id, operation, done_by, reason)
    select organization_id, id, 'webhook_secret', ${by}, ${reason} from stored`);
  if (rowCount === 0) throw new PermanentError('account does not exist', { context: { lineOaId } });
  return secret;
}

/**
 * The secret that an account's webhooks are signed with, opened with the deployment's key.
 *
 * @throws PermanentError when the account has none, or it does not open with this key.
 */
export async function getWebhookSecret(
  db: Db,
  { lineOaId, secretsKey }: { lineOaId: string; secretsKey: Buffer },
): Promise<string> {
  const { rows } = await db.execute<{ channel_id: string; sealed: string | null }>(
    sql`select channel_id, webhook_secret_sealed as sealed from line_oa where id = ${lineOaId}`,
  );
  const [account] = rows;
  if (account === undefined || account.sealed === null)
    throw new PermanentError('account has no webhook secret', { context: { lineOaId } });
  return openSecret(secretsKey, { sealed: account.sealed, boundTo: webhookBinding(account.channel_id) });
}
