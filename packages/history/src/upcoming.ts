import type { Tenant } from '@dueline/contracts';
import { type SQL, sql } from '@dueline/db';

/** Entries that are told of each kind. */
const MOST = 100;

/** A query of what is to come for a person: `kind`, `at`, `entry`. */
export const upcomingOf = (tenant: Tenant, userId: string): SQL => sql`
  (${actions(tenant, userId)}) union all (${campaigns(tenant, userId)}) union all (${cycles(tenant, userId)})`;

const actions = ({ organizationId, lineOaId }: Tenant, userId: string): SQL => sql`
  select 'action' as kind, action.execute_at as at,
         jsonb_build_object('id', action.id::text, 'triggerRuleId', trigger_rule_id::text, 'ruleName', rule.name, 'status', status,
           'actionType', action.action_type, 'actionConfig', action.action_config, 'expiresAt', expires_at, 'waitsFor', (
             select coalesce(jsonb_agg(jsonb_build_object('source', source, 'refId', ref_id, 'branch', wait.branch) order by n), '[]')
               from action_wait as wait where wait.scheduled_action_id = action.id and action.branch is null)) as entry
    from scheduled_action as action left join trigger_rule as rule on rule.id = trigger_rule_id
   where action.user_id = ${userId} and action.line_oa_id = ${lineOaId} and action.organization_id = ${organizationId}
     and status in ('pending', 'processing')
   order by action.execute_at, action.id limit ${MOST}::int`;

/** Who is in the audience now, and is left out by nothing; a broadcast goes to friends. */
const campaigns = ({ organizationId, lineOaId }: Tenant, userId: string): SQL => sql`
  select 'campaign', start_date, jsonb_build_object('campaignId', id::text, 'name', name)
    from campaign
   where status = 'scheduled' and deleted_date is null and frozen_at is null and line_oa_id = ${lineOaId} and organization_id = ${organizationId}
     and exists (select from line_user as person
                  where person.line_oa_id = campaign.line_oa_id and person.user_id = ${userId} and person.is_following)
     and (cast_type = 'broadcast'
          or exists (select from audience_member as member where member.audience_id = campaign.audience_id and member.user_id = ${userId}))
     and ${userId} <> all(excluded_user_ids)
     and not exists (select from audience_member as other where other.audience_id = any(excluded_audience_ids) and other.user_id = ${userId})
   order by start_date, id limit ${MOST}::int`;

const cycles = ({ organizationId, lineOaId }: Tenant, userId: string): SQL => sql`
  select 'cycle', next_run_at,
         jsonb_build_object('triggerRuleId', rule.id::text, 'ruleName', rule.name,
                            'asks', source_config ? 'onDate' or source_config ? 'conditions')
    from trigger_rule as rule join cycle_schedule as schedule on schedule.trigger_rule_id = rule.id
   where rule.line_oa_id = ${lineOaId} and rule.organization_id = ${organizationId} and rule.source_type = 'scheduled_time'
     and rule.deleted_date is null and schedule.is_live and next_run_at is not null and rule.mode = 'live'
     and exists (select from line_user as person
                  where person.line_oa_id = rule.line_oa_id and person.user_id = ${userId} and person.is_following)
     and (not source_config ? 'audienceId'
          or exists (select from audience_member as member
                      where member.audience_id = (source_config ->> 'audienceId')::bigint and member.user_id = ${userId}))
   order by next_run_at, rule.id limit ${MOST}::int`;
