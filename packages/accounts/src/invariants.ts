import { type Invariant, sql } from '@dueline/db';

/** What must be true of accounts. */
export const ACCOUNT_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I32.pause',
    says: 'a paused account says since when and why, and one that is not paused says neither',
    offending: () => sql`
      select format('account %s: %s, paused at %s for %s', line_oa.id, status, coalesce(paused_at::text, 'no time'),
                    coalesce(reason_code, 'no reason')) as what
        from line_oa left join account_trouble as trouble on trouble.line_oa_id = line_oa.id
       where status is distinct from case when reason_code in ('monthly_limit', 'held_back') then 'paused_quota'
                                          when reason_code in ('token_refused', 'forbidden') then 'paused_auth'
                                          when reason_code = 'by_person' then 'paused_by_person'
                                          else 'active' end`,
  },
  {
    id: 'I32.look',
    says: 'somebody looks whether a pause is over that may end by itself',
    offending: ({ overdueSeconds }) => sql`
      select format('account %s: paused for %s, last looked at %s', trouble.line_oa_id, reason_code, looked_at) as what
        from account_trouble as trouble
        join line_oa on line_oa.id = trouble.line_oa_id and line_oa.stopped_at is null and line_oa.deleted_date is null
        join organization on organization.id = trouble.organization_id and organization.stopped_at is null
       where paused_at is not null and reason_code in ('monthly_limit', 'held_back', 'token_refused')
         and looked_at < clock_timestamp() - make_interval(secs => ${overdueSeconds})`,
  },
];
