import type { Tenant } from '@dueline/contracts';
import { type Db, makePartitions } from '@dueline/db';
import { historyOfRule, historyOfUser, timelineOf } from '@dueline/history';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant } from '../measure/rounds.ts';
import type { Stage } from '../product/stage.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const DECISIONS = 5_000_000;
const EVENTS = 1_000_000;
const PEOPLE = 100_000;
const RULES = 100;
const MONTHS = 14;
const SECONDS = MONTHS * 30 * 86_400;
const BATCH = 250_000;
const CAMPAIGNS = 300;
const CHUNKS = 20;
const CHUNK = 500;
const LOOKS = 300;
const PAGE = 50;

const RULE = 'history of a rule';
const PERSON = 'history of a person';
const TIMELINE = 'timeline of a person';
const MIDDLE = 'p50 ms';
const LATE = 'p99 ms';

export const historyScenario: Scenario = {
  name: 'history',
  brief: 'the history of a rule and of a person, and a timeline, among five million decisions',
  hasPeers: false,
  what: 'Pages of fifty, the newest and the one behind it in turn, of a rule or a person by chance: five million decisions under a hundred rules about a hundred thousand people, a million events, over fourteen months; for the timeline also three hundred campaigns to ten thousand people each. As a person waits for it: a transaction with its tenant set.',
  expectations: [RULE, PERSON, TIMELINE].flatMap((of) => [
    { what: `${of}: milliseconds, the middle one`, of, figure: MIDDLE, better: 'lower' as const, floor: 20, goal: 5 },
    { what: `${of}: milliseconds, one in a hundred`, of, figure: LATE, better: 'lower' as const, floor: 100, goal: 20 },
  ]),
  run: (stage, options) =>
    withProduct(stage, { ...options, name: 'history' }, async ({ database: { db }, accounts: [tenant] }) => {
      if (tenant === undefined) throw new Error('there is no account');
      const decisions = Math.round(DECISIONS * options.scale);
      const firstRule = await fill(db, tenant, { decisions, events: Math.round(EVENTS * options.scale) });
      stage.tell('the history is written');
      const page = { limit: PAGE };
      const reads: Omit<Reads, 'rows'>[] = [
        {
          name: RULE,
          look: (n, after) =>
            historyOfRule(db, tenant, { ...page, after, triggerRuleId: String(firstRule + BigInt(n % RULES)) }),
        },
        { name: PERSON, look: (n, after) => historyOfUser(db, tenant, { ...page, after, userId: personAt(n) }) },
        { name: TIMELINE, look: (n, after) => timelineOf(db, tenant, { ...page, after, userId: personAt(n) }) },
      ];
      return reads.map((read) => contestant(stage, { ...read, rows: decisions }));
    }),
};

const personAt = (n: number): string => `U${((n * 7_919) % PEOPLE).toString(16).padStart(32, '0')}`;
const PERSON_OF_N = `'U' || lpad(to_hex((n * 31) % ${PEOPLE}), 32, '0')`;
/** Spread over all months that there are, the newest rows in this one. */
const AT_OF_N = `app_now() - make_interval(secs => n * ($3::float8 / $4::float8))`;

type Run = (text: string, values?: readonly unknown[]) => Promise<{ rows: { id: string }[] }>;

/** Returns the id of the first rule; the others follow it. */
async function fill(
  db: Db,
  { organizationId, lineOaId }: Tenant,
  counts: { decisions: number; events: number },
): Promise<bigint> {
  const client = await db.$client.connect();
  try {
    await client.query('set statement_timeout = 0');
    const run: Run = (text, values = []) => client.query(text, [organizationId, lineOaId, ...values]);
    await run(
      `insert into line_user (organization_id, line_oa_id, user_id)
       select $1, $2, 'U' || lpad(to_hex(n), 32, '0') from generate_series(0, ${PEOPLE - 1}) as n on conflict do nothing`,
    );
    const { rows } = await run(
      `insert into trigger_rule (organization_id, line_oa_id, name, source_type, source_config, action_type, action_config)
       select $1, $2, 'rule ' || n, 'attribute_changed', '{"attribute": "tier"}', 'send_message', '{"messages": []}'
         from generate_series(1, ${RULES}) as n returning id`,
    );
    const firstRule = rows[0]?.id ?? '';
    const decisions = { count: counts.decisions, insert: DECISION, values: [firstRule] };
    const events = { count: counts.events, insert: EVENT, values: [] };
    for (const { count, insert, values } of [decisions, events]) {
      await run(insert, [SECONDS, MONTHS, 0, MONTHS, ...values]); // one for each month, so that each is made
      await makePartitions(db);
      for (let from = MONTHS; from < count; from += BATCH)
        await run(insert, [SECONDS, count, from, Math.min(count, from + BATCH), ...values]);
    }
    await run(CAMPAIGN, [SECONDS, CAMPAIGNS]);
    await client.query('vacuum analyze trigger_log, event_archive, campaign, campaign_chunk, delivery, line_user');
    return BigInt(firstRule);
  } finally {
    client.release(true);
  }
}

const DECISION = `
  insert into trigger_log (created_date, organization_id, line_oa_id, trigger_rule_id, rule_version, user_id, trigger_on, action_type,
                           action_config, status, decision, reason_code, event_id, root_id)
  select ${AT_OF_N}, $1, $2, $7::bigint + n % ${RULES}, 1, ${PERSON_OF_N}, 'attribute_changed', 'send_message',
         '{"messages": [{"type": "text", "text": "hello"}]}', 'success', case n % 3 when 0 then 'fired' else 'suppressed' end,
         case n % 3 when 0 then 'matched' else 'frequency' end, gen_random_uuid(), gen_random_uuid()
    from generate_series($5::bigint, $6::bigint - 1) as n`;

const EVENT = `
  insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth,
                             decided_at)
  select gen_random_uuid(), 'attribute_changed', $1, $2, ${PERSON_OF_N}, '{"changed": {"tier": {"to": "gold"}}}', false,
         ${AT_OF_N}, ${AT_OF_N}, gen_random_uuid(), 0, ${AT_OF_N}
    from generate_series($5::bigint, $6::bigint - 1) as n`;

/** Each to every tenth person, from another one on. */
const CAMPAIGN = `
  with sent as (
    insert into campaign (organization_id, line_oa_id, name, cast_type, frozen_at, planned_count)
    select $1, $2, 'campaign ' || n, 'multicast', ${AT_OF_N}, ${CHUNKS * CHUNK} from generate_series(1, $4::int) as n returning *),
  chunk as (
    insert into campaign_chunk (campaign_id, chunk_no, organization_id, line_oa_id, user_ids, user_count)
    select id, chunk_no, organization_id, line_oa_id,
           array(select 'U' || lpad(to_hex((chunk_no * ${CHUNK} + m) * 10 + id % 10), 32, '0') from generate_series(0, ${CHUNK - 1}) as m), ${CHUNK}
      from sent cross join generate_series(0, ${CHUNKS - 1}) as chunk_no returning *)
  insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, ordinal, campaign_id, chunk_no, retry_key, body, body_sha256,
                        status, accepted_at, deliver_until)
  select organization_id, line_oa_id, 'campaign', campaign_id, 'multicast', chunk_no, campaign_id, chunk_no, gen_random_uuid(), '{}', '',
         'accepted', app_now(), app_now() from chunk`;

interface Reads {
  readonly name: string;
  /** Decisions that there are. */
  readonly rows: number;
  readonly look: (n: number, after: string | undefined) => Promise<{ readonly next: string | null }>;
}

const contestant = ({ servers }: Stage, { name, rows, look }: Reads): Contestant => ({
  name,
  settings: `${LOOKS} looks of up to ${PAGE} of ${rows.toLocaleString('en-US')}`,
  run: async () => {
    for (let n = 0; n < 20; n += 1) await look(n, undefined); // plans and caches of a process that has been running for a while
    const use = meterProcessors(servers);
    const times: number[] = [];
    let after: string | undefined;
    for (let n = 0; n < LOOKS; n += 1) {
      const startedAt = performance.now();
      const { next } = await look(n >> 1, after);
      times.push(performance.now() - startedAt);
      after = n % 2 === 0 ? (next ?? undefined) : undefined;
    }
    times.sort((left, right) => left - right);
    const figure = (part: number) => times[Math.floor(times.length * part)] ?? Number.NaN;
    const used = use();
    const { bench = 0, ...groups } = used.seconds;
    return {
      figures: { [MIDDLE]: figure(0.5), [LATE]: figure(0.99) },
      use: { ...used, seconds: { ...groups, apps: bench } },
      ...{ units: LOOKS, lost: 0, doubled: 0 },
    };
  },
});
