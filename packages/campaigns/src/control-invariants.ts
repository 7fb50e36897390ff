import { type Invariant, STATEMENT_TIMEOUT_MS, sql } from '@dueline/db';

/** A start that waited for the campaign began at most so long before a cancel that came first was committed. */
const LONGEST_WAIT_SECONDS = STATEMENT_TIMEOUT_MS / 1_000;

/** What must be true of campaigns that a person stopped, or that need one. */
export const CONTROL_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I11.campaign',
    says: 'no request of a campaign begins after it was cancelled',
    offending: ({ historyDays }) => sql`
      select format('campaign %s: cancelled at %s, delivery %s first attempted at %s', campaign.id, cancel_requested_at, delivery.id, first_attempt_at) as what
        from campaign join delivery on delivery.campaign_id = campaign.id
       where cancel_requested_at > app_now() - make_interval(days => ${historyDays})
         and first_attempt_at > cancel_requested_at + make_interval(secs => ${LONGEST_WAIT_SECONDS})`,
  },
  {
    id: 'I22.cancel',
    says: 'of a cancelled campaign nothing is planned or on its way',
    offending: ({ historyDays }) => sql`
      select format('campaign %s: cancelled, %s deliveries under way', campaign.id, open) as what
        from campaign
       cross join lateral (select count(*) as open from delivery where campaign_id = campaign.id and status in ('planned', 'sending')) as deliveries
       where campaign.status = 'cancel' and open > 0 and created_date > app_now() - make_interval(days => ${historyDays})`,
  },
  {
    id: 'I15.campaign_stop',
    says: 'a campaign that is being cancelled waits only for what is on its way or in doubt, and ends soon after that',
    offending: ({ overdueSeconds }) => sql`
      select format('campaign %s: cancelled at %s, still %s', campaign.id, cancel_requested_at, status) as what
        from campaign
       cross join lateral (
         select coalesce(max(updated_date), campaign.updated_date) as updated_date,
                count(*) filter (where status = 'sending' or (status = 'planned' and first_attempt_at is not null)) as waited_for
           from delivery where campaign_id = campaign.id) as deliveries
       where cancel_requested_at is not null and status <> 'cancel' and waited_for = 0
         and deliveries.updated_date < clock_timestamp() - make_interval(secs => ${overdueSeconds})`,
  },
  {
    id: 'I22.told',
    says: 'of a campaign that failed or needs a person, a person has been told',
    offending: ({ historyDays }) => sql`
      select format('campaign %s: %s, %s', id, status, reason_code) as what from campaign
       where status in ('failed', 'needs_attention') and created_date > app_now() - make_interval(days => ${historyDays})
         and not exists (select from attention_item where kind = 'campaign_not_sent' and ref_id = campaign.id::text)`,
  },
];
