import { type Db, makePartitions, openDatabase } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { historyOfRule, historyOfUser, timelineOf } from '@dueline/history';
import { afterAll, beforeAll, expect, test } from 'vitest';

const MONTHS = 16;
const ROWS_PER_MONTH = 5_000;

let own: TestDb;
let tenant: { organizationId: string; lineOaId: string };
let ruleId: string;
beforeAll(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await makePartitions(own.db, MONTHS - 3);
  for (const table of await columnOf(
    own.db,
    `select relname from pg_class where relkind = 'r' and relname ~ '^(trigger_log|event_archive)_'`,
  ))
    await own.db.$client.query(`alter table ${table} set (autovacuum_enabled = off)`);
  const rule = await insertRow(own.db, 'trigger_rule', {
    ...{
      organization_id: tenant.organizationId,
      line_oa_id: tenant.lineOaId,
      name: 'x',
      source_type: 'attribute_changed',
    },
    ...{ source_config: { attribute: 'x' }, action_type: 'send_message', action_config: {} },
  });
  ruleId = String(rule.id);
  // the rule and each person have far more rows in each month than a page shows
  for (let month = 0; month < MONTHS; month += 1) {
    const values = [tenant.organizationId, tenant.lineOaId, ruleId, month, ROWS_PER_MONTH];
    const at = `date_trunc('month', app_now(), 'UTC') + make_interval(months => $4::int, secs => n)`;
    await own.db.$client.query(
      `insert into trigger_log (created_date, organization_id, line_oa_id, trigger_rule_id, user_id, trigger_on, decision, reason_code)
       select ${at}, $1, $2, case when n % 10 = 0 then $3::bigint else n end, 'U' || lpad(to_hex(n % 10), 32, '0'), 'x', 'fired', 'matched'
         from generate_series(1, $5::int) as n`,
      values,
    );
    await own.db.$client.query(
      `insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth, decided_at)
       select gen_random_uuid(), 'x', $1, $2, 'U' || lpad(to_hex(n % 10), 32, '0'), '{}', false, app_now(), app_now(), gen_random_uuid(), 0, ${at}
         from generate_series(1, $5::int) as n where $3::bigint > 0`,
      values,
    );
  }
}, 120_000);
afterAll(() => own[Symbol.asyncDispose]());

/** The plans that the server really used for `work` on a connection of its own, as it tells them itself. */
async function plansOf(setting: string, work: (db: Db) => Promise<unknown>): Promise<string> {
  const database = openDatabase({ url: own.url, applicationName: 'test', maxConnections: 1, onError: () => undefined });
  const plans: string[] = [];
  database.db.$client.on('connect', (client) => client.on('notice', ({ message = '' }) => plans.push(message)));
  try {
    await database.db.$client.query(
      `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on; set auto_explain.log_timing = off;
       set auto_explain.log_level = 'notice'; ${setting}`,
    );
    await work(database.db);
  } finally {
    await database.close();
  }
  return plans.join('\n');
}

const READS: [what: string, index: RegExp, read: (db: Db) => Promise<string | null>][] = [
  ['the history of a rule', /trigger_log_\d+_\d+_trigger_rule_id_created_date_idx/, ofRule],
  ['the history of a person', /trigger_log_\d+_\d+_line_oa_id_user_id_created_date_idx/, ofUser],
  ['the timeline of a person', /event_archive_\d+_\d+_line_oa_id_user_id_decided_at_idx/, timeline],
];
const all = { limit: 50 };
async function ofRule(db: Db) {
  const { next } = await historyOfRule(db, tenant, { ...all, triggerRuleId: ruleId });
  return (await historyOfRule(db, tenant, { ...all, triggerRuleId: ruleId, after: next ?? '' })).next;
}
async function ofUser(db: Db) {
  const { next } = await historyOfUser(db, tenant, { ...all, userId: lineUserId(7) });
  return (await historyOfUser(db, tenant, { ...all, userId: lineUserId(7), after: next ?? '' })).next;
}
async function timeline(db: Db) {
  const { next } = await timelineOf(db, tenant, { ...all, userId: lineUserId(7) });
  return (await timelineOf(db, tenant, { ...all, userId: lineUserId(7), after: next ?? '' })).next;
}

test.for(READS)(
  'over sixteen months that nobody analyzed, %s reads its index and a page of it only, whatever the plan is made for',
  { timeout: 60_000 },
  async ([, index, read]) => {
    for (const setting of ['', 'set plan_cache_mode = force_generic_plan', 'set enable_hashjoin = off']) {
      const plans = await plansOf(setting, async (db) => expect(await read(db)).not.toBeNull());
      expect(plans, setting).toMatch(index);
      expect(plans, setting).not.toMatch(/Seq Scan on (trigger_log|event_archive)_2/);
      // a page, and of each month the row at which it stops
      const read1 = [
        ...plans.matchAll(/Scan\S* (?:using \S+ )?on (?:trigger_log|event_archive)_2\S+ .*actual rows=(\d+)/g),
      ];
      expect(read1.length, setting).toBeGreaterThan(0);
      expect(Math.max(...read1.map(([, rows]) => Number(rows))), setting).toBeLessThanOrEqual(60);
    }
  },
);
