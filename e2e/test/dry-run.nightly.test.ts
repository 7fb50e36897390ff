import type { Tenant } from '@dueline/contracts';
import { openDatabase } from '@dueline/db';
import { insertTenant, testDb } from '@dueline/db/testing';
import { dryRun } from '@dueline/explain';
import { readRule } from '@dueline/trigger-rules';
import pg from 'pg';
import { expect, test } from 'vitest';

const PEOPLE = 50_000;
const EVENTS_EACH = 20;
const MEMORY_MIB = 300;

/** Everybody's plan changes twenty times within twenty days, to gold each fourth time. */
const FILL = `
  alter table line_user disable trigger user;
  insert into line_user (organization_id, line_oa_id, user_id, attributes, created_date)
  select $1, $2, 'U' || lpad(to_hex(n), 32, '0'), '{"plan": "gold", "city": "Edo"}', app_now() - interval '40 days'
    from generate_series(1, ${PEOPLE}) as n;
  alter table line_user enable trigger user;
  create temp table happened as
  select gen_random_uuid() as event_id, 'U' || lpad(to_hex(n), 32, '0') as user_id,
         date_trunc('day', app_now()) - interval '20 days' + make_interval(days => k / 2, secs => n % 86000 / 2 + k % 2) as at,
         jsonb_build_object('plan', jsonb_build_object('from', 'p' || k, 'to', case when k % 4 = 0 then 'gold' else 'p' || k + 1 end)) as changed
    from generate_series(1, ${PEOPLE}) as n cross join generate_series(0, ${EVENTS_EACH - 1}) as k;
  insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth, decided_at)
  select event_id, 'attribute_changed', $1, $2, user_id, jsonb_build_object('changed', changed), false, at, at, event_id, 0, at + interval '1 second'
    from happened;
  insert into attribute_change (event_id, organization_id, line_oa_id, user_id, changed, occurred_at)
  select event_id, $1, $2, user_id, changed, at from happened;
  analyze event_archive; analyze attribute_change; analyze line_user`;

async function fill(url: string, { organizationId, lineOaId }: Tenant): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(FILL.replaceAll('$1', organizationId).replaceAll('$2', lineOaId));
  await client.end();
}

test('a dry run over a million events takes memory that does not grow with them, and comes to what SQL counts', {
  timeout: 1_800_000,
}, async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db, { timezone: 'UTC' });
  await fill(own.url, tenant);
  const database = openDatabase({
    url: own.url,
    applicationName: 'test',
    maxConnections: 1,
    onError: () => undefined,
    statementTimeoutMs: 120_000,
  });
  const read = readRule({
    ...{ name: 'gold', sourceType: 'attribute_changed', actionType: 'send_message', frequency: 'once_per_day' },
    sourceConfig: { attribute: 'plan', to: 'gold', conditions: { attribute: 'city', op: 'eq', value: 'Edo' } },
    actionConfig: { messages: [{ type: 'text', text: 'hello {{ attribute.plan | "you" }}' }] },
  });
  if ('problem' in read) throw new Error(read.problem);
  let most = 0;
  const begin = performance.now();
  const looking = setInterval(() => {
    most = Math.max(most, process.memoryUsage().heapUsed);
  }, 100);
  const before = process.memoryUsage().heapUsed;
  const { rows } = await own.db.$client.query<{ from: string }>(
    `select (app_now() - interval '30 days')::text as from`,
  );
  const run = await dryRun(database.db, tenant, { draft: read.rule, from: rows[0]?.from ?? '' });
  clearInterval(looking);
  await database.close();
  const seconds = (performance.now() - begin) / 1_000;
  const grownMiB = Math.round((most - before) / 1_048_576);
  process.stdout.write(
    `a dry run over ${run.draft.events} events: ${seconds.toFixed(0)} s, ${grownMiB} MiB more at most\n`,
  );
  const counted = await own.db.$client.query<{ events: number; fires: number }>(
    `select count(*)::int as events,
            count(distinct (user_id, decided_at::date)) filter (where payload -> 'changed' -> 'plan' ->> 'to' = 'gold')::int as fires
       from event_archive where decided_at >= $1`,
    [run.playedFrom],
  );
  expect({ events: run.draft.events, fires: run.draft.fires }).toEqual(counted.rows[0]);
  expect(grownMiB).toBeLessThan(MEMORY_MIB);
});
