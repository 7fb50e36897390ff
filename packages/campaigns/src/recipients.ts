import { column, type SQL, sql, type Tx } from '@dueline/db';
import type { Campaign } from './campaign.ts';

/** Whom a campaign to an audience is for. */
export type Target = Pick<
  Campaign,
  'organizationId' | 'lineOaId' | 'audienceId' | 'excludedAudienceIds' | 'excludedUserIds'
>;

/** People of one statement, so that any number is read in short ones. */
export const PEOPLE_PER_PAGE = 20_000;

/**
 * A page of people who are in the audience, are friends now (whoever blocked the account would receive nothing) and are not left out, in the
 * order of their ids, from behind `after`: one rule for the preview, the count at the start and the freeze. Rows `(user_id)`.
 *
 * An audience that leaves people out does so though it is deleted: nobody shall get what the author kept from them.
 */
export const recipients = (target: Target, after: string): SQL => pageOf([friends(target, after), ...leftOut(target)]);

const pageOf = (conditions: readonly SQL[]): SQL =>
  sql`${sql.join([...conditions], sql` and not `)} order by member.user_id limit ${PEOPLE_PER_PAGE}`;

/**
 * Both sides of the join are told where to begin: the database would read one of them from its beginning for each page. Whose members they are
 * is asked of their audience alone, so that they are read from the index.
 */
const friends = ({ audienceId, organizationId, lineOaId }: Target, after: string): SQL => sql`
  select member.user_id
    from audience_member as member
    join audience on audience.id = member.audience_id and audience.deleted_date is null
     and audience.organization_id = ${organizationId} and audience.line_oa_id = ${lineOaId}
    join line_user on line_user.line_oa_id = ${lineOaId} and line_user.user_id = member.user_id and line_user.is_following
     and line_user.user_id > ${after}
   where member.audience_id = ${audienceId} and member.user_id > ${after}`;

/**
 * Why the row `member` may be left out. Audiences are looked into for each person (`offset 0`): to join them would read all of each for each
 * page. Who is named is hashed once.
 */
function leftOut({ excludedAudienceIds, excludedUserIds }: Target): SQL[] {
  const named = sql`member.user_id in (
    select named.user_id collate "C" from unnest(${column(excludedUserIds, 'text')}) as named (user_id))`;
  const listed = excludedAudienceIds.map(
    (id) => sql`exists (
      select from audience_member as other where other.audience_id = ${id} and other.user_id = member.user_id offset 0)`,
  );
  return excludedUserIds.length === 0 ? listed : [named, ...listed];
}

/** How many people a freeze would reach now. */
export const countPeople = (tx: Tx, target: Target): Promise<number> => count(tx, (after) => recipients(target, after));

/** The same with those who are left out. */
export const countFriends = (tx: Tx, target: Target): Promise<number> =>
  count(tx, (after) => pageOf([friends(target, after)]));

async function count(tx: Tx, page: (after: string) => SQL): Promise<number> {
  let total = 0;
  for (let after = ''; ; ) {
    const { rows } = await tx.execute<{ count: number; last: string | null }>(
      sql`select count(*)::int as count, max(user_id) as last from (${page(after)}) as page`,
    );
    const [{ count: more, last } = { count: 0, last: null }] = rows;
    total += more;
    if (more < PEOPLE_PER_PAGE || last === null) return total;
    after = last;
  }
}
