import type { Tenant } from '@dueline/contracts';
import type { Stack } from '@dueline/demo';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import type { Planned } from '@dueline/stress';
import { createRule } from '@dueline/trigger-rules';

/** Two pages. */
export const CYCLE_FRIENDS = 520;

/** A rule for an audience of these people, whose cycle is due now and not again for a year. */
export async function writeCycle(
  { database: { db } }: Pick<Stack, 'database'>,
  tenant: Tenant,
  userIds: readonly string[],
): Promise<Planned[]> {
  const { organizationId, lineOaId } = tenant;
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [organizationId, lineOaId, userIds],
  );
  const audienceId = await createAudience(db, tenant, { name: 'a cycle' });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  const { rows } = await db.$client.query<{ cron: string }>(
    `select to_char(app_now() at time zone 'UTC', 'FMMI FMHH24 FMDD FMMM "*"') as cron`,
  );
  const ruleId = await createRule(db, tenant, {
    ...{ name: 'cycle', sourceType: 'scheduled_time' as const, frequency: 'every_time' as const },
    ...{ sourceConfig: { cron: rows[0]?.cron ?? '', timezone: 'UTC', audienceId } },
    ...{ actionType: 'send_message' as const },
    ...{ actionConfig: { messages: [{ type: 'text' as const, text: 'good morning [[lid:cycle]]' }] } },
  } as Parameters<typeof createRule>[2]);
  // this minute's, which a plan from now on would leave to the next year
  await db.$client.query(
    `update cycle_schedule set next_run_at = date_trunc('minute', app_now()), planned_at = clock_timestamp(), fence = fence + 1
      where trigger_rule_id = $1`,
    [ruleId],
  );
  return userIds.map((user) => ({ user, lid: 'cycle' }));
}
