import { type Invariant, type SQL, sql } from '@dueline/db';

/** {@link retryKey} in SQL, for the send of the row `delivery` on the account `account`: computed twice, by two programs. */
const recomputedKey = (epoch: SQL) => sql`
  (select encode(set_byte(set_byte(hash, 6, get_byte(hash, 6) & 15 | 128), 8, get_byte(hash, 8) & 63 | 128), 'hex')::uuid
     from (select substring(sha256(convert_to(concat_ws('/', 'lrk1', account.channel_id, delivery.kind, delivery.logical_id, ${epoch},
             delivery.endpoint, delivery.ordinal, delivery.split_path), 'UTF8')) from 1 for 16) as hash) as name)`;

/** The row `action` asks LINE or a receiver of webhooks for something, itself or by what its wait does instead of it. */
const isPerformedOutside = sql`(
  action.action_type in ('send_message', 'switch_rich_menu', 'unlink_rich_menu', 'call_webhook')
  or (action.branch = 'expired' and action.delay_spec #>> '{onExpired,do}' = 'instead'))`;
/** Of which request a part was made, but for its path; it may have got a later epoch since. */
const isPartOfWhole = sql`
  part.logical_id = whole.logical_id and part.kind = whole.kind and part.ordinal = whole.ordinal and part.endpoint = whole.endpoint
  and part.epoch >= whole.epoch`;

/** What must be true of the ledger of sends. */
export const DELIVERY_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I4.delivery',
    says: 'while a send has an owner nobody else ends it',
    offending: ({ historyDays }) => sql`
      select format('delivery %s: accepted under fence %s, last owned by %s under %s, which ended %s', delivery.id, delivery.fence,
                    last.claimed_by, last.fence, coalesce(last.outcome, 'never')) as what
        from delivery
       cross join lateral (select * from delivery_attempt where delivery_id = delivery.id order by fence desc limit 1) as last
       where delivery.status = 'accepted' and delivery.created_date > app_now() - make_interval(days => ${historyDays})
         and (delivery.fence <= last.fence or (delivery.fence = last.fence + 1 and last.outcome is null))`,
  },
  {
    id: 'I6.key',
    says: 'the retry key of a send is computed from what the send is, and from nothing else',
    offending: ({ historyDays }) => sql`
      select format('delivery %s: has key %s', delivery.id, delivery.retry_key) as what
        from delivery join line_oa as account on account.id = delivery.line_oa_id
       where delivery.created_date > app_now() - make_interval(days => ${historyDays})
         and delivery.retry_key <> ${recomputedKey(sql`delivery.epoch`)}`,
  },
  {
    id: 'I6.attempt',
    says: 'every request to LINE was written ahead by an owner of the row, with the key of the row',
    offending: ({ historyDays }) => sql`
      select format('delivery %s: attempt %s with key %s and fence %s', delivery.id, attempt_no, attempt.retry_key, attempt.fence) as what
        from delivery_attempt as attempt
        join delivery on delivery.id = attempt.delivery_id
        join line_oa as account on account.id = delivery.line_oa_id
       where delivery.created_date > app_now() - make_interval(days => ${historyDays})
         and ((delivery.first_attempt_at is null and attempt.retry_key = delivery.retry_key) or attempt.fence > delivery.fence
              or (attempt.retry_key <> delivery.retry_key
                  and not exists (select from generate_series(1, delivery.epoch - 1) as earlier (epoch)
                                   where attempt.retry_key = ${recomputedKey(sql`earlier.epoch`)})))`,
  },
  {
    id: 'I13',
    says: 'an action that LINE or a receiver performs has each of its deliveries exactly once when it is done; one that we perform, or that is not done, has none',
    offending: ({ historyDays }) => sql`
      with effect as (
        select action.id, count(delivery.id) as deliveries, count(distinct ordinal) as ordinals, coalesce(max(group_size), 1) as wanted
          from scheduled_action as action
          left join delivery on delivery.kind = 'action' and delivery.scheduled_action_id = action.id and delivery.epoch > action.gen
         group by 1
      )
      select format('scheduled_action %s: %s with %s deliveries of %s', action.id, status, deliveries, wanted) as what
        from scheduled_action as action join effect using (id)
       where (status = 'done' and executed_at > app_now() - make_interval(days => ${historyDays})
              and case when ${isPerformedOutside} then deliveries <> wanted or ordinals <> wanted else deliveries > 0 end)
          or (status <> 'done' and deliveries > 0)`,
  },
  {
    id: 'I13b',
    says: 'what counts as accepted was accepted, by LINE once',
    offending: ({ historyDays }) => sql`
      with answers as (
        select delivery_id as id, count(*) filter (where outcome = 'accepted') as accepted,
               count(*) filter (where outcome = 'already') as already
          from delivery_attempt group by 1
      )
      select format('delivery %s: accepted at %s as %s, by %s + %s attempts', delivery.id, accepted_at,
                    coalesce(line_request_id, line_accepted_request_id), coalesce(accepted, 0), coalesce(already, 0)) as what
        from delivery left join answers using (id)
       where status = 'accepted' and created_date > app_now() - make_interval(days => ${historyDays})
         and (accepted_at is null or coalesce(accepted, 0) + coalesce(already, 0) = 0
              or (endpoint <> 'webhook' and (coalesce(line_request_id, line_accepted_request_id) is null or accepted > epoch)))`,
  },
  {
    id: 'I13c',
    says: 'a delivery that is due is announced soon, unless its account is stopped',
    offending: ({ overdueSeconds }) => sql`
      select format('delivery %s: due since %s and not announced', delivery.id, next_attempt_at) as what
        from delivery
        join line_oa on line_oa.id = delivery.line_oa_id and line_oa.stopped_at is null
        join organization on organization.id = delivery.organization_id and organization.stopped_at is null
       where delivery.status = 'planned' and published_at is null
         and next_attempt_at < app_now() - make_interval(secs => ${overdueSeconds})`,
  },
  {
    id: 'I13d',
    says: 'what needs several requests goes out in order: none is begun before LINE has accepted the one before, and none is forgotten',
    offending: () => sql`
      select format('delivery %s: part %s is %s, due %s, and the part before it, delivery %s, is %s', delivery.id, delivery.ordinal,
                    delivery.status, delivery.next_attempt_at, earlier.id, earlier.status) as what
        from delivery
        left join delivery as earlier on earlier.logical_id = delivery.logical_id and earlier.kind = delivery.kind
         and earlier.ordinal = delivery.ordinal - 1 and earlier.endpoint = delivery.endpoint and earlier.epoch <= delivery.epoch
         and not exists (select from delivery as newer where newer.logical_id = earlier.logical_id and newer.kind = earlier.kind
                          and newer.ordinal = earlier.ordinal and newer.epoch > earlier.epoch and newer.epoch <= delivery.epoch)
       where delivery.group_size > 1 and delivery.ordinal > 0
         and (earlier.id is null
              or (earlier.status <> 'accepted' and (delivery.first_attempt_at is not null or delivery.next_attempt_at <> 'infinity')
                  and delivery.status <> 'cancelled')
              or (earlier.status not in ('planned', 'sending') and delivery.status = 'planned' and delivery.next_attempt_at = 'infinity'))`,
  },
  {
    id: 'I14.delivery',
    says: 'a send whose lease is over is taken back',
    offending: ({ leaseOverSeconds }) => sql`
      select format('delivery %s: of %s, lease over since %s', id, claimed_by, lease_until) as what from delivery
       where status = 'sending' and lease_until < clock_timestamp() - make_interval(secs => ${leaseOverSeconds})`,
  },
  {
    id: 'I22.split',
    says: 'a request that was split has two parts, which are for exactly its people, each in one; a part belongs to what was split',
    offending: ({ historyDays }) => sql`
      select format('delivery %s: split, with %s parts for %s of its %s people', whole.id, parts.count, parts.people,
                    jsonb_array_length(whole.body::jsonb -> 'to')) as what
        from delivery as whole
       cross join lateral (
         select count(distinct part.id) as count, count(member.id) as people,
                coalesce(jsonb_agg(member.id order by member.id), '[]') as ids
           from delivery as part cross join lateral jsonb_array_elements(part.body::jsonb -> 'to') as member (id)
          where part.split_path in (whole.split_path || '0', whole.split_path || '1') and ${isPartOfWhole}) as parts
       where whole.status = 'split' and whole.created_date > app_now() - make_interval(days => ${historyDays})
         and (parts.count <> 2 or parts.ids <> (select jsonb_agg(member.id order by member.id)
                                                  from jsonb_array_elements(whole.body::jsonb -> 'to') as member (id)))
      union all
      select format('delivery %s: part %s of a request that was not split', part.id, part.split_path)
        from delivery as part
       where part.split_path <> '' and part.created_date > app_now() - make_interval(days => ${historyDays})
         and not exists (select from delivery as whole
                          where whole.split_path = left(part.split_path, -1) and whole.status = 'split' and ${isPartOfWhole})`,
  },
  {
    id: 'I30.delivery',
    says: 'a send names an account of its organization, and a rule of that account',
    offending: () => sql`
      select format('delivery %s: of organization %s, account %s, rule %s', delivery.id, delivery.organization_id, delivery.line_oa_id,
                    delivery.trigger_rule_id) as what
        from delivery
        left join line_oa on line_oa.id = delivery.line_oa_id and line_oa.organization_id = delivery.organization_id
        left join trigger_rule as rule on rule.id = delivery.trigger_rule_id and rule.line_oa_id = line_oa.id
       where line_oa.id is null or (delivery.trigger_rule_id is not null and rule.id is null)`,
  },
];
