import type { Tenant } from '@dueline/contracts';
import { arrayLiteral, given, sql, statement, type Tx } from '@dueline/db';

/** A person of one account, as conditions and decisions see them. */
export interface LineUser {
  readonly lineOaId: string;
  readonly userId: string;
  readonly isFollowing: boolean;
  readonly displayName: string | null;
  /** BCP 47, or whatever another service wrote. */
  readonly language: string | null;
  /** An IANA zone, or whatever another service wrote; null: the account's. */
  readonly timezone: string | null;
  /** A Map, so that an attribute named `__proto__` is a key like any other. */
  readonly attributes: ReadonlyMap<string, unknown>;
}

export interface LineUserKey {
  readonly lineOaId: string;
  readonly userId: string;
}

/** A person's key as one string, for maps. */
export const lineUserKey = ({ lineOaId, userId }: LineUserKey): string => `${lineOaId}:${userId}`;

/** The current state of these people, by {@link lineUserKey}; who does not exist is left out. Locks nothing. */
export async function getLineUsers(tx: Tx, keys: readonly LineUserKey[]): Promise<ReadonlyMap<string, LineUser>> {
  const rows = await readUsers(tx, {
    accounts: arrayLiteral(keys.map(({ lineOaId }) => lineOaId)),
    users: arrayLiteral(keys.map(({ userId }) => userId)),
  });
  return new Map(rows.map(parseUser).map((user) => [lineUserKey(user), user]));
}

/** People of an account behind a user id, in the order of ids; fewer than `limit`: there are no more. Locks nothing. */
export async function pageOfUsers(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  { after, limit }: { after: string; limit: number },
): Promise<LineUser[]> {
  const { rows } = await tx.execute<UserRow>(sql`
    select ${USER}
      from line_user
     where line_oa_id = ${lineOaId} and organization_id = ${organizationId} and user_id > ${after}
     order by user_id limit ${limit}`);
  return rows.map(parseUser);
}

type UserRow = {
  line_oa_id: string;
  user_id: string;
  is_following: boolean;
  display_name: string | null;
  language: string | null;
  timezone: string | null;
  attributes: Record<string, unknown>;
};

const USER = sql`line_oa_id, user_id, is_following, display_name, language, timezone, attributes`;

const readUsers = statement<UserRow, { accounts: string; users: string }>(sql`
  select ${USER}
    from line_user
    join (select distinct * from unnest(${given('accounts')}::bigint[], ${given('users')}::text[]) as key (line_oa_id, user_id)) as wanted
   using (line_oa_id, user_id)`);

const parseUser = (row: UserRow): LineUser => ({
  lineOaId: row.line_oa_id,
  userId: row.user_id,
  isFollowing: row.is_following,
  displayName: row.display_name,
  language: row.language,
  timezone: row.timezone,
  attributes: new Map(Object.entries(row.attributes)),
});
