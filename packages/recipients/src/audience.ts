import { isStorable, type Tenant } from '@dueline/contracts';
import { column, type Db, errorCode, inTenant, sql, type Tx } from '@dueline/db';
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

/** One audience of one account. */
export interface AudienceKey extends Tenant {
  readonly audienceId: string;
}

/** An audience that is there, and whose it is: others of the same call may have named it too. */
export interface HeldAudience {
  readonly lineOaId: string;
}

/** Which of these audiences exist and are not deleted, by id; none is deleted before the transaction ends. Without keys it asks nothing. */
export async function holdAudiences(tx: Tx, keys: readonly AudienceKey[]): Promise<ReadonlyMap<string, HeldAudience>> {
  if (keys.length === 0) return new Map();
  const col = (read: (key: AudienceKey) => string) => column(keys.map(read), 'bigint');
  const { rows } = await tx.execute<{ id: string; line_oa_id: string }>(sql`
    select id, line_oa_id from audience
     where deleted_date is null
       and (organization_id, line_oa_id, id) in (
             select * from unnest(${col((key) => key.organizationId)}, ${col((key) => key.lineOaId)}, ${col((key) => key.audienceId)}))
     order by id
       for share`);
  return new Map(rows.map(({ id, line_oa_id: lineOaId }) => [id, { lineOaId }]));
}

/** That one person shall be in an audience, or not. */
export interface MembershipChange extends AudienceKey {
  readonly userId: string;
  readonly member: boolean;
}

/**
 * Adds people to audiences and removes them, in the caller's transaction, which holds the audiences ({@link holdAudiences}). Of several
 * changes of one person and audience the last counts; what is so already stays.
 */
export async function changeMembership(tx: Tx, changes: readonly MembershipChange[]): Promise<void> {
  const last = new Map(changes.map((change) => [`${change.lineOaId}:${change.audienceId}:${change.userId}`, change]));
  const [added, removed] = [true, false].map((member) => [...last.values()].filter((one) => one.member === member));
  if (added !== undefined && added.length > 0) await addMembers(tx, added);
  if (removed !== undefined && removed.length > 0) await removeMembers(tx, removed);
}

const memberRows = (changes: readonly MembershipChange[]) => {
  const col = (read: (change: MembershipChange) => string, type: 'bigint' | 'text') => column(changes.map(read), type);
  return sql`unnest(${col((one) => one.audienceId, 'bigint')}, ${col((one) => one.organizationId, 'bigint')},
    ${col((one) => one.lineOaId, 'bigint')}, ${col((one) => one.userId, 'text')}) as wanted (audience_id, organization_id, line_oa_id, user_id)`;
};

const addMembers = (tx: Tx, changes: readonly MembershipChange[]) =>
  tx.execute(sql`
    insert into audience_member (audience_id, organization_id, line_oa_id, user_id)
    select * from ${memberRows(changes)}
     order by audience_id, user_id collate "C"
        on conflict do nothing`);

const removeMembers = (tx: Tx, changes: readonly MembershipChange[]) =>
  tx.execute(sql`
    with held as materialized (
      select member.audience_id, member.user_id
        from audience_member as member join ${memberRows(changes)} using (audience_id, organization_id, line_oa_id, user_id)
       order by member.audience_id, member.user_id
         for update of member)
    delete from audience_member using held
     where audience_member.audience_id = held.audience_id and audience_member.user_id = held.user_id`);
