import type { Tenant } from '@dueline/contracts';
import { type Db, type SQL, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { tokenBinding } from './channel.ts';
import { sealSecret } from './secrets.ts';

function requireZone(timezone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch (cause) {
    throw new PermanentError('timezone is not an IANA zone', { cause });
  }
}

async function insertedId(db: Db, statement: SQL): Promise<string> {
  const { rows } = await db.execute<{ id: string }>(statement);
  if (rows[0] === undefined) throw new Error('insert returned no row');
  return rows[0].id;
}

/** Creates an organization and returns its id. @throws PermanentError when the zone is no IANA zone. */
export async function createOrganization(
  db: Db,
  { name, defaultTimezone = 'Asia/Tokyo' }: { name: string; defaultTimezone?: string },
): Promise<string> {
  requireZone(defaultTimezone);
  return insertedId(
    db,
    sql`insert into organization (name, default_timezone) values (${name}, ${defaultTimezone}) returning id`,
  );
}

/**
 * Creates a LINE Official Account with its channel access token, sealed under `secretsKey` (32 bytes).
 *
 * @throws PermanentError when the zone is no IANA zone or the organization does not exist.
 */
export async function createLineOa(
  db: Db,
  account: {
    organizationId: string;
    channelId: string;
    name: string;
    timezone: string;
    channelAccessToken: string;
    secretsKey: Buffer;
  },
): Promise<Tenant> {
  requireZone(account.timezone);
  const sealed = sealSecret(account.secretsKey, {
    secret: account.channelAccessToken,
    boundTo: tokenBinding(account.channelId),
  });
  const lineOaId = await insertedId(
    db,
    sql`
    insert into line_oa (organization_id, channel_id, name, timezone, channel_access_token_sealed)
    values (${account.organizationId}, ${account.channelId}, ${account.name}, ${account.timezone}, ${sealed})
    returning id`,
  );
  return { organizationId: account.organizationId, lineOaId };
}
