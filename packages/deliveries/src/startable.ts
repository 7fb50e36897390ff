import type { Ticket } from '@dueline/contracts';
import { type Db, type SQL, sql, ticketRows } from '@dueline/db';
import { heedsQuietHours, isInDoubt, RETRY_KEY_HOURS } from './state.ts';

/** Whether the row `delivery` is a send of messages. */
export const isSend = sql`delivery.endpoint in ('push', 'multicast', 'broadcast')`;

/** Joins the row `delivery` with `attempts`: what is on record of it. */
export const attemptsOn = (settleSeconds: number): SQL => sql`
  cross join lateral (
    select count(*)::int as count,
           coalesce(bool_or(retry_key = delivery.retry_key and ${isInDoubt}), false) as ambiguous,
           coalesce(bool_or(outcome is null
             and started_at > clock_timestamp() - make_interval(secs => ${settleSeconds})), false) as unsettled,
           count(*) filter (where retry_key = delivery.retry_key and outcome = 'refused')::int as refusals
      from delivery_attempt where delivery_id = delivery.id) as attempts`;

/** Whether a planned row `delivery` of an `account` that is not stopped may be started now, by its `attempts`. @param isOfSending Its campaign is being sent. */
export const isStartable = (isOfSending: SQL): SQL => sql`
  delivery.next_attempt_at <= app_now()
  and (delivery.campaign_id is null or ${isOfSending} or attempts.ambiguous)
  and (account.status = 'active' or attempts.ambiguous)
  and not attempts.unsettled
  and (attempts.ambiguous or delivery.deliver_until > app_now())
  and (attempts.ambiguous or not ${heedsQuietHours}
       or quiet_until(app_now(), zone_of_quiet_hours(account, delivery.user_id), account.quiet_from, account.quiet_to) is null)
  and (delivery.first_attempt_at is null
       or app_now() < delivery.first_attempt_at + make_interval(hours => ${RETRY_KEY_HOURS}))`;

/**
 * Which of an account's tickets startDeliveries would start as things stand. Holds nothing: another process may be faster.
 *
 * @throws TransientError when the database was not ready.
 */
export async function findStartable<T extends Ticket>(
  db: Db,
  { lineOaId, tickets, settleSeconds }: { lineOaId: string; tickets: readonly T[]; settleSeconds: number },
): Promise<T[]> {
  if (tickets.length === 0) return [];
  const { rows } = await db.execute<{ id: string }>(sql`
    select delivery.id
      from delivery
      join ${ticketRows(tickets)} on delivery.id = ticket.id and delivery.fence = ticket.fence
      left join campaign on campaign.id = delivery.campaign_id and campaign.status = 'sending' and campaign.deleted_date is null
      join line_oa as account on account.id = delivery.line_oa_id and account.deleted_date is null and account.stopped_at is null
      join organization on organization.id = delivery.organization_id and organization.stopped_at is null
      ${attemptsOn(settleSeconds)}
     where delivery.status = 'planned' and ${isSend} and delivery.line_oa_id = ${lineOaId}
       and ${isStartable(sql`campaign.id is not null`)}`);
  const ids = new Set(rows.map(({ id }) => id));
  return tickets.filter(({ id }) => ids.has(id));
}
