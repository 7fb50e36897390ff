import { isStorable, type Tenant } from '@dueline/contracts';
import { column, type Db, errorCode, inTenant, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';

const MAX_NAME_LENGTH = 200;

/** Creates an empty audience and returns its id. @throws PermanentError when the name is empty, too long or cannot be stored. */
export async function createAudience(db: Db, tenant: Tenant, { name }: { name: string }): Promise<string> {
  if (name === '' || name.length > MAX_NAME_LENGTH || !isStorable(name)) {
    throw new PermanentError(`the name of an audience has 1 to ${MAX_NAME_LENGTH} characters`);
  }
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<{ id: string }>(sql`
      insert into audience (organization_id, line_oa_id, name)
      values (${tenant.organizationId}, ${tenant.lineOaId}, ${name}) returning id`);
    if (rows[0] === undefined) throw new Error('insert returned no row');
    return rows[0].id;
  });
}

/**
 * Adds people to an audience and returns how many were not in it yet.
 *
 * @throws PermanentError when the audience or one of the people does not exist in this account: then nobody was added.
 */
export async function addAudienceMembers(
  db: Db,
  tenant: Tenant,
  { audienceId, userIds }: { audienceId: string; userIds: readonly string[] },
): Promise<number> {
  try {
    return await inTenant(db, tenant, async (tx) => {
      const { rowCount } = await tx.execute(sql`
        insert into audience_member (audience_id, organization_id, line_oa_id, user_id)
        select ${audienceId}::bigint, ${tenant.organizationId}::bigint, ${tenant.lineOaId}::bigint, user_id
          from unnest(${column([...new Set(userIds)].sort(), 'text')}) as new_member (user_id)
            on conflict do nothing`);
      return rowCount ?? 0;
    });
  } catch (error) {
    if (errorCode(error) === '23503') throw new PermanentError('no such audience or person in this account');
    throw error;
  }
}
