import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { dryRun, explain } from '@dueline/explain';
import { listRules, readRule } from '@dueline/trigger-rules';
import type { Cast } from './seed.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS, RULES } from './story.ts';

/** Longer than the story, its three days included. */
const STORY = '30 days';

/** Tells why a rule did not fire for somebody, and what another rule would have done with the story: both only read. */
export async function tellWhy(
  { database: { db } }: Pick<Stack, 'database'>,
  cast: Cast,
  tell: (line: string) => void,
): Promise<void> {
  const [account] = ACCOUNTS;
  const tenant = account && cast.tenants.get(account.channelId);
  if (tenant === undefined) throw new Error('the first account was not seeded');
  tell(`./dueline explain: ${await tellOfOne(db, tenant)}`);
  tell(`./dueline dry-run: ${await tellOfAll(db, tenant)}`);
}

async function tellOfOne(db: Db, tenant: Tenant): Promise<string> {
  const { rows } = await db.$client.query<{ ruleId: string; userId: string; eventId: string }>(
    `select trigger_rule_id as "ruleId", user_id as "userId", event_id as "eventId" from trigger_log
      where line_oa_id = $1 and organization_id = $2 and (decision = 'not_matched' or reason_code <> 'fact_late' and decision = 'suppressed') and event_id is not null
        and trigger_rule_id is not null and trigger_on <> 'scheduled_action'
      order by decision, id limit 1`,
    [tenant.lineOaId, tenant.organizationId],
  );
  const [met] = rows;
  if (met === undefined) return 'every rule fired for everybody whom it met';
  const { rule, userId, says, reason } = await explain(db, tenant, met);
  return `“${rule.name}” and ${userId.slice(0, 8)}…: ${says} (${reason})`;
}

/** The first rule of the story, had it answered every change of its attribute. */
async function tellOfAll(db: Db, tenant: Tenant): Promise<string> {
  const [first] = RULES;
  const read = readRule({ ...first, sourceConfig: { attribute: 'tier' }, frequency: 'every_time' });
  if ('problem' in read) throw new Error(read.problem);
  const against = (await listRules(db, tenant)).find(({ document }) => document.name === read.rule.name)?.id;
  const { rows } = await db.$client.query<{ from: string }>(`select (app_now() - $1::interval)::text as from`, [STORY]);
  const { draft, compared } = await dryRun(db, tenant, { draft: read.rule, from: rows[0]?.from ?? '', against });
  const more = compared === null ? '' : `; ${compared.gains.people} newly reached, ${compared.loses.people} no more`;
  return `“${read.rule.name}” on any change of tier fires ${draft.fires} times for ${draft.people} people, ${draft.messages.sent} messages${more}`;
}
