import type { Tenant } from '@dueline/contracts';
import { openDatabase } from '@dueline/db';
import { insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { dryRun } from '@dueline/explain';
import { readRule } from '@dueline/trigger-rules';
import pg from 'pg';
import { expect, test } from 'vitest';

const PEOPLE = 50_000;
const CYCLES = 7;
const MEMORY_MIB = 300;

/** Everybody's plan has changed twice: half of them have been gold since four days ago, a third of those who are not follow no more. */
const FILL = `
  alter table line_user disable trigger user;
  insert into line_user (organization_id, line_oa_id, user_id, attributes, created_date, is_following, timezone)
  select $1, $2, 'U' || lpad(to_hex(n), 32, '0'), jsonb_build_object('plan', case n % 2 when 0 then 'gold' else 'none' end, 'city', 'Edo'),
         app_now() - interval '40 days', n % 6 <> 1, case n % 5 when 0 then 'America/New_York' end
    from generate_series(1, ${PEOPLE}) as n;
  alter table line_user enable trigger user;
  insert into attribute_change (event_id, organization_id, line_oa_id, user_id, changed, occurred_at)
  select gen_random_uuid(), $1, $2, 'U' || lpad(to_hex(n), 32, '0'),
         jsonb_build_object('plan', jsonb_build_object('from', 'none', 'to', case n % 2 when 0 then 'gold' else 'none' end)),
         app_now() - make_interval(days => days)
    from generate_series(1, ${PEOPLE}) as n cross join (values (4), (10)) as at (days);
  analyze attribute_change; analyze line_user`;

async function fill(url: string, { organizationId, lineOaId }: Tenant): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(FILL.replaceAll('$1', organizationId).replaceAll('$2', lineOaId));
  await client.end();
}

test('a daily rule of a week is tried on fifty thousand people, as they were, in memory that does not grow with them', {
  timeout: 900_000,
}, async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db, { timezone: 'UTC' });
  await moveProductTime(own.db, 10 * 86_400); // history begins with the month
  await fill(own.url, tenant);
  const { db, close } = openDatabase({
    ...{ url: own.url, applicationName: 'test', maxConnections: 1, statementTimeoutMs: 120_000 },
    onError: () => undefined,
  });
  const read = readRule({
    ...{ name: 'daily', sourceType: 'scheduled_time', actionType: 'send_message', frequency: 'once_per_day' },
    sourceConfig: { cron: '0 9 * * *', conditions: { attribute: 'plan', op: 'eq', value: 'gold' } },
    actionConfig: { messages: [{ type: 'text', text: 'hello {{ attribute.plan | "you" }}' }] },
  });
  if ('problem' in read) throw new Error(read.problem);
  const { rows } = await own.db.$client.query<{ from: string }>(`select (app_now() - interval '7 days')::text as from`);
  const before = process.memoryUsage().heapUsed;
  let most = before;
  const looking = setInterval(() => {
    most = Math.max(most, process.memoryUsage().heapUsed);
  }, 100);
  const begin = performance.now();
  const run = await dryRun(db, tenant, { draft: read.rule, from: rows[0]?.from ?? '', cycles: CYCLES });
  const seconds = (performance.now() - begin) / 1_000;
  clearInterval(looking);
  await close();
  const grownMiB = Math.round((most - before) / 1_048_576);
  process.stdout.write(
    `a dry run of ${CYCLES} cycles over ${PEOPLE} people: ${seconds.toFixed(1)} s, ${grownMiB} MiB more at most\n`,
  );
  const friends = PEOPLE - Math.floor((PEOPLE + 5) / 6);
  expect(run.draft).toMatchObject({ cycles: CYCLES, events: CYCLES * friends, people: PEOPLE / 2 });
  expect(grownMiB).toBeLessThan(MEMORY_MIB);
});
