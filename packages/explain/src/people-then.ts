import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { getLineUsers, type LineUser, lineUserKey } from '@dueline/recipients';

/** A person as they were at an instant. */
export interface PersonThen {
  readonly user: LineUser;
  /** Names of attributes whose value then is not known: it was too long for the history. */
  readonly unknown: ReadonlySet<string>;
}

/** People as they were; undefined: nobody knew them yet. */
export type PeopleThen = (userId: string, micros: number) => PersonThen | undefined;

/** Who is asked about, since when, and about which attributes; null: all. */
export interface Wanted {
  readonly userIds: readonly string[];
  readonly sinceMicros: number;
  readonly attributes: ReadonlySet<string> | null;
}

/** Values of one attribute before each of its changes, in the order of time. */
type Befores = { readonly at: number; readonly from?: unknown }[];
type FollowStep = {
  readonly decided: number;
  readonly occurred: number;
  readonly type: string;
  readonly is_unblocked: boolean;
};

/**
 * People as they were at instants since one: as they are now, with every later change undone. A change counts from the moment at which its
 * transaction began. Name, language and zone leave no history, and are as they are now.
 */
export async function loadPeopleThen(tx: Tx, tenant: Tenant, wanted: Wanted): Promise<PeopleThen> {
  const userIds = [...new Set(wanted.userIds)];
  const users = await getLineUsers(
    tx,
    userIds.map((userId) => ({ lineOaId: tenant.lineOaId, userId })),
  );
  const known = await loadKnownSince(tx, tenant, userIds);
  const changes = await loadChanges(tx, tenant, { ...wanted, userIds });
  const follows = await loadFollows(tx, tenant, userIds);
  return (userId, micros) => {
    const user = users.get(lineUserKey({ lineOaId: tenant.lineOaId, userId }));
    if (user === undefined || (known.get(userId) ?? 0) > micros) return undefined;
    const { attributes, unknown } = attributesAt(user.attributes, changes.get(userId), micros);
    return {
      user: { ...user, attributes, isFollowing: followedAt(follows.get(userId), micros) ?? user.isFollowing },
      unknown,
    };
  };
}

function attributesAt(now: LineUser['attributes'], changed: ReadonlyMap<string, Befores> | undefined, micros: number) {
  const unknown = new Set<string>();
  if (changed === undefined) return { attributes: now, unknown };
  const attributes = new Map(now);
  for (const [name, befores] of changed) {
    const next = befores[firstFrom(befores, micros)];
    if (next === undefined) continue;
    if (!Object.hasOwn(next, 'from')) attributes.delete(name);
    else attributes.set(name, next.from);
    if (next.from === null) unknown.add(name);
  }
  return { attributes, unknown };
}

/** The place of the first that is at `micros` or later. */
function firstFrom(befores: Befores, micros: number): number {
  let [low, high] = [0, befores.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((befores[middle]?.at ?? 0) < micros) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether a person followed; undefined: as now, there is nothing else to go by. */
function followedAt(steps: readonly FollowStep[] | undefined, micros: number): boolean | undefined {
  if (steps === undefined) return undefined;
  const last = steps.findLast(({ decided }) => decided <= micros);
  if (last !== undefined) return last.type === 'follow';
  const [next] = steps;
  return next && (next.type === 'unfollow' || !next.is_unblocked);
}

async function loadKnownSince(tx: Tx, { organizationId, lineOaId }: Tenant, userIds: readonly string[]) {
  const { rows } = await tx.execute<{ user_id: string; known: string }>(sql`
    select user_id, (extract(epoch from created_date) * 1000000)::bigint as known from line_user
     where line_oa_id = ${lineOaId} and organization_id = ${organizationId} and user_id = any(${column([...userIds], 'text')})`);
  return new Map(rows.map(({ user_id, known }) => [user_id, Number(known)]));
}

async function loadChanges(tx: Tx, { organizationId, lineOaId }: Tenant, { userIds, sinceMicros, attributes }: Wanted) {
  const byUser = new Map<string, Map<string, Befores>>();
  if (attributes?.size === 0) return byUser;
  const names = column([...(attributes ?? [])], 'text');
  const { rows } = await tx.execute<{ user_id: string; at: string; changed: Record<string, { from?: unknown }> }>(sql`
    select user_id, (extract(epoch from occurred_at) * 1000000)::bigint as at,
           ${attributes === null ? sql`changed` : sql`(select jsonb_object_agg(key, value) from jsonb_each(changed) where key = any(${names})) as changed`}
      from attribute_change
     where line_oa_id = ${lineOaId} and organization_id = ${organizationId} and user_id = any(${column([...userIds], 'text')})
       and occurred_at >= to_timestamp(${sinceMicros}::bigint / 1000000.0)
       ${attributes === null ? sql`` : sql`and changed ?| ${names}`}
     order by user_id, occurred_at, event_id`);
  for (const { user_id, at, changed } of rows) {
    const ofUser = byUser.get(user_id) ?? new Map<string, Befores>();
    byUser.set(user_id, ofUser);
    for (const [name, { to: _, ...before }] of Object.entries(changed) as [
      string,
      { from?: unknown; to?: unknown },
    ][]) {
      const befores = ofUser.get(name) ?? [];
      ofUser.set(name, befores);
      befores.push({ at: Number(at), ...before });
    }
  }
  return byUser;
}

/** Who followed and who blocked is known from the moment at which that was decided. */
async function loadFollows(tx: Tx, { organizationId, lineOaId }: Tenant, userIds: readonly string[]) {
  const { rows } = await tx.execute<{
    user_id: string;
    decided: string;
    occurred: string;
    type: string;
    is_unblocked: boolean;
  }>(sql`
    select told.user_id, told.type, told.is_unblocked, (extract(epoch from told.occurred_at) * 1000000)::bigint as occurred,
           (extract(epoch from coalesce(archived.decided_at, told.occurred_at)) * 1000000)::bigint as decided
      from friend_track_event as told
      left join lateral (select decided_at from event_archive as archive
                          where archive.line_oa_id = told.line_oa_id and archive.user_id = told.user_id
                            and archive.topic = 'friend_track_event_inserted' and archive.payload ->> 'id' = told.id::text
                          limit 1) as archived on true
     where told.line_oa_id = ${lineOaId} and told.organization_id = ${organizationId}
       and told.user_id = any(${column([...userIds], 'text')})
     order by told.user_id, told.occurred_at, told.id`);
  const steps = rows.map((row) => ({ ...row, decided: Number(row.decided), occurred: Number(row.occurred) }));
  return Map.groupBy(steps, ({ user_id }) => user_id);
}
