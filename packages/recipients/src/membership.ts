import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** One person and one audience of their account. */
export interface Membership extends Tenant {
  readonly audienceId: string;
  readonly userId: string;
}

/** Whose and of what, as one string, for maps. */
export const membershipKey = ({ lineOaId, audienceId, userId }: Omit<Membership, 'organizationId'>): string =>
  `${lineOaId}:${audienceId}:${userId}`;

/**
 * Whether these people are in these audiences, by {@link membershipKey}, in one statement; an audience that is deleted, or is not one of
 * the account, is left out. Locks nothing. Without pairs it asks nothing.
 */
export async function loadMemberships(tx: Tx, pairs: readonly Membership[]): Promise<ReadonlyMap<string, boolean>> {
  if (pairs.length === 0) return new Map();
  const col = (read: (pair: Membership) => string, type: 'bigint' | 'text') => column(pairs.map(read), type);
  const { rows } = await tx.execute<{
    line_oa_id: string;
    audience_id: string;
    user_id: string;
    is_member: boolean;
  }>(sql`
    select wanted.line_oa_id, wanted.audience_id, wanted.user_id, member.user_id is not null as is_member
      from (select distinct * from unnest(${col((pair) => pair.organizationId, 'bigint')}, ${col((pair) => pair.lineOaId, 'bigint')},
                                          ${col((pair) => pair.audienceId, 'bigint')}, ${col((pair) => pair.userId, 'text')})
              as pair (organization_id, line_oa_id, audience_id, user_id)) as wanted
      join audience on audience.id = wanted.audience_id and audience.organization_id = wanted.organization_id
       and audience.line_oa_id = wanted.line_oa_id and audience.deleted_date is null
      left join audience_member as member
        on member.audience_id = wanted.audience_id and member.user_id = wanted.user_id collate "C"`);
  return new Map(
    rows.map((row) => [
      membershipKey({ lineOaId: row.line_oa_id, audienceId: row.audience_id, userId: row.user_id }),
      row.is_member,
    ]),
  );
}
