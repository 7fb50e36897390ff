import type { Tenant } from '@dueline/contracts';
import { type Db, errorCode, type SQL, sql, type Tx, translateError } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { tokenBinding } from './channel.ts';
import { sealSecret } from './secrets.ts';

/** Offsets pass Intl as zones, but PostgreSQL reads their sign the other way round. */
const OFFSET = /^[+-]/;

function requireZone(timezone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch (cause) {
    throw new PermanentError('timezone is not an IANA zone', { cause });
  }
  if (OFFSET.test(timezone)) throw new PermanentError('timezone is not an IANA zone');
}

/** What a person can put right, by SQLSTATE. Without the database's error as cause: its details hold the values. */
const REFUSALS: ReadonlyMap<string | undefined, string> = new Map([
  ['23503', 'organization does not exist'],
  ['23505', 'channel id is taken by another account'],
  ['23514', 'channel id is not 1 to 20 digits'],
  ['22023', 'timezone is not an IANA zone'], // the database may know fewer than Node
]);

async function insertedId(db: Db | Tx, statement: SQL): Promise<string> {
  try {
    const { rows } = await db.execute<{ id: string }>(statement);
    if (rows[0] === undefined) throw new Error('insert returned no row');
    return rows[0].id;
  } catch (error) {
    const refusal = REFUSALS.get(errorCode(error));
    throw refusal === undefined ? translateError(error) : new PermanentError(refusal);
  }
}

/** Creates an organization and returns its id. @throws PermanentError when the zone is no IANA zone. */
export async function createOrganization(
  db: Db | Tx,
  { name, defaultTimezone = 'Asia/Tokyo' }: { name: string; defaultTimezone?: string },
): Promise<string> {
  requireZone(defaultTimezone);
  return insertedId(
    db,
    sql`insert into organization (name, default_timezone) values (${name}, ${defaultTimezone}) returning id`,
  );
}

/**
 * Creates a LINE Official Account with its channel access token, sealed under `secretsKey` (32 bytes). Without a token it needs no key, and sends
 * nothing until its credentials are stored.
 *
 * @throws PermanentError when the zone is no IANA zone, the organization does not exist, the channel id is taken or malformed, or a token comes without a key.
 */
export async function createLineOa(
  db: Db | Tx,
  account: {
    organizationId: string;
    channelId: string;
    name: string;
    timezone: string;
    channelAccessToken?: string | undefined;
    secretsKey?: Buffer | undefined;
  },
): Promise<Tenant> {
  requireZone(account.timezone);
  const { channelAccessToken: secret, secretsKey } = account;
  if (secret !== undefined && secretsKey === undefined)
    throw new PermanentError('a channel access token needs the key that seals it');
  const sealed =
    secret === undefined || secretsKey === undefined
      ? null
      : sealSecret(secretsKey, { secret, boundTo: tokenBinding(account.channelId) });
  const lineOaId = await insertedId(
    db,
    sql`
    insert into line_oa (organization_id, channel_id, name, timezone, channel_access_token_sealed)
    values (${account.organizationId}, ${account.channelId}, ${account.name}, ${account.timezone}, ${sealed})
    returning id`,
  );
  return { organizationId: account.organizationId, lineOaId };
}
