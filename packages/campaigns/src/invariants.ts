import { type AuditLimits, type Invariant, type SQL, sql } from '@dueline/db';
import { CONTROL_INVARIANTS } from './control-invariants.ts';

const isRecent = ({ historyDays }: AuditLimits): SQL =>
  sql`coalesce(campaign.frozen_at, campaign.created_date) > app_now() - make_interval(days => ${historyDays})`;
const isUnderWay = sql`campaign_id = campaign.id and status in ('planned', 'sending')`;

const LIVELINESS: readonly Invariant[] = [
  {
    id: 'I14.campaign',
    says: 'a campaign that is being sent and gives no sign of life is taken back',
    offending: ({ silentSeconds, leaseOverSeconds }) => sql`
      select format('campaign %s: of %s, no sign of life since %s', id, claimed_by, claimed_at) as what from campaign
       where status = 'sending' and claimed_at < clock_timestamp() - make_interval(secs => ${silentSeconds + leaseOverSeconds})
         and not exists (select from delivery where campaign_id = campaign.id and status = 'sending')`,
  },
  {
    id: 'I15.campaign',
    says: 'a campaign that is due is claimed soon, or fails because it is too late, unless its account is stopped or paused',
    // What was taken back is due from then on, and its start long past.
    offending: ({ overdueSeconds }) => sql`
      select format('campaign %s: due since %s, scheduled since %s', id, start_date, updated_date) as what from campaign
       where status = 'scheduled' and deleted_date is null
         and start_date < app_now() - make_interval(secs => ${overdueSeconds})
         and updated_date < clock_timestamp() - make_interval(secs => ${overdueSeconds})
         and not exists (select from line_oa join organization on organization.id = line_oa.organization_id
                          where line_oa.id = campaign.line_oa_id
                            and (line_oa.status <> 'active' or line_oa.stopped_at is not null or organization.stopped_at is not null))`,
  },
  {
    id: 'I15.campaign_end',
    says: 'a campaign of which nothing is under way any more is closed soon',
    offending: ({ overdueSeconds }) => sql`
      select format('campaign %s: nothing under way since %s', campaign.id, ended.updated_date) as what from campaign
       cross join lateral (
         select coalesce(max(delivery.updated_date), campaign.updated_date) as updated_date from delivery where campaign_id = campaign.id) as ended
       where status = 'sending' and frozen_at is not null
         and not exists (select from delivery where ${isUnderWay})
         and ended.updated_date < clock_timestamp() - make_interval(secs => ${overdueSeconds})`,
  },
];

const CONTENT: readonly Invariant[] = [
  {
    id: 'I22.chunks',
    says: 'the people of a frozen campaign are counted, and each is in one chunk; a broadcast is one chunk for all',
    offending: (limits) => sql`
      select format('campaign %s: %s to %s, in %s chunks with %s people, %s different ones', campaign.id, cast_type,
                    coalesce(planned_count::text, 'all'), chunks, people, different) as what
        from campaign
       cross join lateral (
         select count(*) as chunks, count(*) filter (where user_ids is null) as to_all, coalesce(sum(user_count), 0) as people
           from campaign_chunk where campaign_id = campaign.id) as frozen
       cross join lateral (
         select count(distinct user_id) as different
           from campaign_chunk cross join lateral unnest(user_ids) as recipient (user_id) where campaign_id = campaign.id) as reached
       where frozen_at is not null and ${isRecent(limits)}
         and case when cast_type = 'broadcast' then planned_count is not null or chunks <> 1 or to_all <> 1
                  else people is distinct from planned_count or different <> people or to_all <> 0 end`,
  },
  {
    id: 'I22.delivery',
    says: 'each chunk is one delivery (of what was split, its parts beside it), and each delivery of a campaign a chunk',
    offending: (limits) => sql`
      select format('campaign %s: chunk %s with %s deliveries', campaign.id, chunk.chunk_no, count(delivery.id)) as what
        from campaign
        join campaign_chunk as chunk on chunk.campaign_id = campaign.id
        left join delivery on delivery.campaign_id = campaign.id and delivery.chunk_no = chunk.chunk_no and delivery.split_path = ''
       where ${isRecent(limits)} group by campaign.id, chunk.chunk_no having count(delivery.id) <> 1
      union all
      select format('campaign %s: delivery %s for chunk %s, which does not exist', campaign.id, delivery.id, delivery.chunk_no)
        from campaign join delivery on delivery.campaign_id = campaign.id
       where ${isRecent(limits)}
         and not exists (select from campaign_chunk where campaign_id = campaign.id and chunk_no = delivery.chunk_no)`,
  },
  {
    id: 'I22.body',
    says: 'a request of a campaign says what the campaign says, to exactly the people of its chunk or, when that was split, to a part of them',
    offending: (limits) => sql`
      select format('campaign %s: delivery %s is not what chunk %s says', campaign.id, delivery.id, chunk_no) as what
        from campaign
        join campaign_chunk as chunk on chunk.campaign_id = campaign.id
        join delivery using (campaign_id, chunk_no)
       where ${isRecent(limits)}
         and (body::jsonb -> 'messages' is distinct from messages
              or (split_path = '' and body::jsonb -> 'to' is distinct from to_jsonb(user_ids)))`,
  },
];

/** What must be true of campaigns and of the deliveries that their freeze made. */
export const CAMPAIGN_INVARIANTS: readonly Invariant[] = [
  ...LIVELINESS,
  {
    id: 'I16.campaign',
    says: 'no campaign begins before its time',
    offending: (limits) => sql`
      select format('campaign %s: frozen at %s, due at %s', id, frozen_at, start_date) as what from campaign
       where frozen_at < start_date and ${isRecent(limits)}`,
  },
  {
    id: 'I22.sent',
    says: 'of a campaign that is sent nothing is under way',
    offending: (limits) => sql`
      select format('campaign %s: sent at %s, frozen at %s, %s deliveries under way', campaign.id, sent_at, frozen_at, open) as what
        from campaign cross join lateral (select count(*) as open from delivery where ${isUnderWay}) as deliveries
       where status = 'sent' and ${isRecent(limits)} and (sent_at is null or frozen_at is null or open > 0)`,
  },
  {
    id: 'I22.frozen',
    says: 'only a frozen campaign has chunks and deliveries',
    offending: () => sql`
      select format('campaign %s: %s, not frozen, with chunks or deliveries', id, status) as what from campaign
       where frozen_at is null and (exists (select from campaign_chunk where campaign_id = campaign.id)
                                    or exists (select from delivery where campaign_id = campaign.id))`,
  },
  ...CONTENT,
  ...CONTROL_INVARIANTS,
];
