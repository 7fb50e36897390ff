import { column, type SQL, sql } from '@dueline/db';
import type { Campaign } from './campaign.ts';

/** Whom a campaign to an audience is for. */
export type Target = Pick<
  Campaign,
  'organizationId' | 'lineOaId' | 'audienceId' | 'excludedAudienceIds' | 'excludedUserIds'
>;

/**
 * People who are in the audience, are friends now (whoever blocked the account would receive nothing) and are not left out: one rule for
 * the preview, the count at the start and the freeze. Rows `member (user_id)`; what follows may add conditions on `member.user_id`.
 *
 * An audience that leaves people out does so though it is deleted: nobody shall get what the author kept from them.
 */
export const recipients = (target: Target): SQL => sql.join([friends(target), ...leftOut(target)], sql` and not `);

/** The same with those who are left out. */
export const friends = ({ audienceId, organizationId, lineOaId }: Target): SQL => sql`
  select member.user_id
    from audience_member as member
    join audience on audience.id = member.audience_id and audience.deleted_date is null
    join line_user on line_user.line_oa_id = member.line_oa_id and line_user.user_id = member.user_id and line_user.is_following
   where member.audience_id = ${audienceId} and member.organization_id = ${organizationId} and member.line_oa_id = ${lineOaId}`;

/** Why the row `member` may be left out. Each stands alone, so that the database can join instead of looking for each person. */
function leftOut({ lineOaId, excludedAudienceIds, excludedUserIds }: Target): SQL[] {
  const named = sql`exists (
    select from unnest(${column(excludedUserIds, 'text')}) as named (user_id) where named.user_id collate "C" = member.user_id)`;
  const listed = excludedAudienceIds.map(
    (id) => sql`exists (
      select from audience_member as other where other.audience_id = ${id} and other.line_oa_id = ${lineOaId} and other.user_id = member.user_id)`,
  );
  return excludedUserIds.length === 0 ? listed : [named, ...listed];
}
