import type { FriendEventType, Tenant } from '@dueline/contracts';
import { column, type Db, inTenant, refuseIf, sql, type Tx } from '@dueline/db';

/** A person followed an account, or blocked it, as LINE's webhook tells. */
export interface FriendEvent {
  readonly userId: string;
  readonly type: FriendEventType;
  /** Whether who follows had blocked the account before, as LINE tells (follow.isUnblocked); left out: not. */
  readonly isUnblocked?: boolean | undefined;
  /** LINE sends a webhook again until it is answered; its id stays, and makes it one fact. */
  readonly webhookEventId: string;
  /** RFC 3339; now, when left out. */
  readonly occurredAt?: string | undefined;
}

const REFUSALS = {
  '22021': 'a text cannot be stored',
  '54000': 'the key of a report is too long',
  '22007': 'the time of an event is not RFC 3339',
  '22008': 'the time of an event is out of range',
  '23514': 'the user id is not one of LINE',
};

/**
 * Records that a person followed an account or left it; what follows from it is decided by the event that the row becomes.
 * False: it was known.
 *
 * @throws PermanentError when the time or the user id is malformed.
 */
export async function recordFriendEvent(db: Db, tenant: Tenant, event: FriendEvent): Promise<boolean> {
  return refuseIf(REFUSALS, () =>
    inTenant(db, tenant, async (tx) => {
      const { rowCount } = await tx.execute(sql`
        insert into friend_track_event (organization_id, line_oa_id, user_id, type, is_unblocked, webhook_event_id, occurred_at)
        values (${tenant.organizationId}, ${tenant.lineOaId}, ${event.userId}, ${event.type}, ${event.isUnblocked ?? false},
                ${event.webhookEventId},
                coalesce(${event.occurredAt ?? null}::timestamptz, app_now()))
            on conflict (line_oa_id, webhook_event_id) do nothing`);
      return rowCount === 1;
    }),
  );
}

/**
 * Brings `is_following` of these people up to the last thing that happened, however late and in which order it was told;
 * who is unknown becomes known. The caller holds their locks.
 */
export async function updateFollowing(tx: Tx, tenant: Tenant, userIds: readonly string[]): Promise<void> {
  await tx.execute(sql`
    insert into line_user (organization_id, line_oa_id, user_id, is_following, blocked_at)
    select ${tenant.organizationId}::bigint, ${tenant.lineOaId}::bigint, told.user_id, last.type = 'follow',
           case when last.type = 'unfollow' then last.occurred_at end
      from (select distinct user_id from unnest(${column(userIds, 'text')}) as person (user_id)) as told
     cross join lateral (select type, occurred_at from friend_track_event
                          where line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId}
                            and user_id = told.user_id
                          order by occurred_at desc, id desc
                          limit 1) as last
     order by told.user_id
        on conflict (line_oa_id, user_id) do update
       set is_following = excluded.is_following, blocked_at = excluded.blocked_at, updated_date = app_now()
     where line_user.is_following is distinct from excluded.is_following`);
}
