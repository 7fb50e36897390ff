import { type Invariant, type SQL, sql } from '@dueline/db';

/** {@link retryKey} in SQL, for the send of the row `delivery` on the account `account`: computed twice, by two programs. */
const recomputedKey = (epoch: SQL) => sql`
  (select encode(set_byte(set_byte(hash, 6, get_byte(hash, 6) & 15 | 128), 8, get_byte(hash, 8) & 63 | 128), 'hex')::uuid
     from (select substring(sha256(convert_to(concat_ws('/', 'lrk1', account.channel_id, delivery.kind, delivery.logical_id, ${epoch},
             delivery.endpoint, delivery.ordinal, delivery.split_path), 'UTF8')) from 1 for 16) as hash) as name)`;

/** The row `action` asks LINE for something, itself or by what its wait does instead of it. */
const isPerformedByLine = sql`(
  action.action_type in ('send_message', 'switch_rich_menu', 'unlink_rich_menu')
  or (action.branch = 'expired' and action.delay_spec #>> '{onExpired,do}' = 'instead'))`;

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
         and (delivery.first_attempt_at is null or attempt.fence > delivery.fence
              or (attempt.retry_key <> delivery.retry_key
                  and not exists (select from generate_series(1, delivery.epoch - 1) as earlier (epoch)
                                   where attempt.retry_key = ${recomputedKey(sql`earlier.epoch`)})))`,
  },
  {
    id: 'I13',
    says: 'an action that LINE performs has exactly one delivery once it is done; one that we perform, or that is not done, has none',
    offending: ({ historyDays }) => sql`
      with effect as (
        select action.id, count(delivery.id) as deliveries
          from scheduled_action as action
          left join delivery on delivery.kind = 'action' and delivery.scheduled_action_id = action.id and delivery.epoch > action.gen
         group by 1
      )
      select format('scheduled_action %s: %s with %s deliveries', action.id, status, deliveries) as what
        from scheduled_action as action join effect using (id)
       where (status = 'done' and executed_at > app_now() - make_interval(days => ${historyDays})
              and deliveries <> case when ${isPerformedByLine} then 1 else 0 end)
          or (status <> 'done' and deliveries > 0)`,
  },
  {
    id: 'I13b',
    says: 'what counts as accepted was accepted by LINE, once',
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
         and (accepted_at is null or coalesce(line_request_id, line_accepted_request_id) is null
              or coalesce(accepted, 0) + coalesce(already, 0) = 0 or accepted > epoch)`,
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
    id: 'I14.delivery',
    says: 'a send whose lease is over is taken back',
    offending: ({ leaseOverSeconds }) => sql`
      select format('delivery %s: of %s, lease over since %s', id, claimed_by, lease_until) as what from delivery
       where status = 'sending' and lease_until < clock_timestamp() - make_interval(secs => ${leaseOverSeconds})`,
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
