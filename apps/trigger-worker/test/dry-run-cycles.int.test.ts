import { installTimeMachine } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { type DryRun, dryRun, explain } from '@dueline/explain';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CycleWorld, cycleWorlds, playCycles } from './random-cycles.ts';

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
  await installTimeMachine(own.db);
});
afterAll(() => own[Symbol.asyncDispose]());

const RUNS = 3;

/** What became of the people whom the cycles of a rule met, as history has it last. */
async function fates(ruleId: string): Promise<DryRun['draft']['outcomes']> {
  const { rows } = await own.db.$client.query(
    `select decision, reason_code as "reasonCode", count(*)::int as count
       from (select distinct on (coalesce(scheduled_action_id, -id)) decision, reason_code
               from trigger_log where trigger_rule_id = $1
              order by coalesce(scheduled_action_id, -id), created_date desc, id desc) as last
      group by 1, 2`,
    [ruleId],
  );
  return rows;
}
const sorted = (outcomes: DryRun['draft']['outcomes']) =>
  outcomes
    .map(({ decision, reasonCode, count }) => `${decision} ${reasonCode} ${count}`)
    .toSorted((a, b) => a.localeCompare(b));

interface Met {
  readonly at: string;
  readonly userId: string;
  readonly decision: string | null;
  readonly reasonCode: string | null;
}

/** Everybody in the last cycles of a rule, with what was decided last; null: the cycle did not meet them. */
async function meetings(ruleId: string): Promise<Met[]> {
  const { rows } = await own.db.$client.query<Met>(
    `select to_json(cycle.scheduled_at) #>> '{}' as at, person.user_id as "userId", log.decision, log.reason_code as "reasonCode"
       from scheduled_trigger_execution as cycle join line_user as person on person.line_oa_id = cycle.line_oa_id
       left join scheduled_action as action on action.line_oa_id = cycle.line_oa_id and action.dedup_key = 'ste:' || cycle.id || ':' || person.user_id
       left join lateral (select decision, reason_code from trigger_log
                           where trigger_rule_id = cycle.trigger_rule_id and user_id = person.user_id
                             and (scheduled_action_id = action.id or scheduled_action_id is null
                                  and created_date between cycle.scheduled_at and cycle.scheduled_at + interval '30 minutes')
                           order by scheduled_action_id nulls last, created_date desc, id desc limit 1) as log on true
      where cycle.trigger_rule_id = $1 order by cycle.id desc, person.user_id limit 12`,
    [ruleId],
  );
  return rows;
}

async function sent(ruleId: string): Promise<number> {
  const { rows } = await own.db.$client.query<{ sent: number }>(
    'select count(*)::int as sent from delivery where trigger_rule_id = $1',
    [ruleId],
  );
  return rows[0]?.sent ?? 0;
}

/** A dry run of each rule of a world decides what its cycles decided, and explain says so of each person. */
async function expectAgreement(world: CycleWorld): Promise<void> {
  const { tenant, rules, from, to } = await playCycles(own.db, world);
  for (const { id, document } of rules) {
    const run = await dryRun(own.db, tenant, { draft: document, from, to, against: id });
    const says = JSON.stringify(document);
    if (document.actionConfig.delay?.mode === 'waitForTracking') continue;
    expect(sorted(run.draft.outcomes), says).toEqual(sorted(await fates(id)));
    const { sent: atOnce, shifted } = run.draft.messages;
    expect(atOnce + shifted, says).toBe(await sent(id));
    expect(run.compared).toMatchObject({ gains: { people: 0 }, loses: { people: 0 } });
    for (const { at, userId, decision, reasonCode } of await meetings(id)) {
      const { fired, reason, computed, says } = await explain(own.db, tenant, { ruleId: id, userId, at });
      if (decision === null)
        expect({ fired, reason, computed }, says).toEqual({ fired: false, reason: 'not_in_cycle', computed: null });
      else {
        expect({ fired, reason }, says).toEqual({ fired: decision === 'fired', reason: reasonCode });
        expect(computed, `${says} ${at} ${userId} ${JSON.stringify(document)}`).toMatchObject({ decision, reasonCode });
      }
    }
  }
}

test('a dry run of a rule that is set off by time decides what its cycles decided, read and decided by the worker, and explain says so of each person', async () => {
  await fc.assert(fc.asyncProperty(cycleWorlds, expectAgreement), { numRuns: RUNS, endOnFailure: true });
}, 240_000);

test('of the actions of several cycles that are due at one instant the oldest take the places under a cap, and explain says so of each', async () => {
  await expectAgreement({
    rules: [
      {
        source: {
          cron: (minute) => `${minute} */6 * * *`,
          timezone: undefined,
          hasAudience: false,
          onDate: undefined,
          conditions: undefined,
        },
        action: { actionType: 'send_message', messages: [{ type: 'text', text: 'hello' }] },
        delay: () => ({
          mode: 'relativeToDate',
          to: { attribute: 'visit' },
          offsetDays: 0,
          at: '12:01',
          whenPast: 'skip',
        }),
        limits: { frequency: 'every_time', cooldownSeconds: 0, reentry: 'always' },
      },
    ],
    quiet: undefined,
    cap: 2,
    capSeconds: 80_000,
    visits: [3, 3, null, null],
    steps: [{ does: 'move', hours: 25 }],
  });
  const decided = `select concat_ws(' ', decision, reason_code) from trigger_log where trigger_on = 'scheduled_action'
    and line_oa_id = (select max(line_oa_id) from trigger_log) order by decision desc`;
  const all = await columnOf(own.db, decided);
  expect(all.slice(0, 4)).toEqual(Array(4).fill('fired due'));
  expect(new Set(all.slice(4))).toEqual(new Set(['cancelled frequency_cap']));
});

test('under a cap of one a day a rule of each morning fires for everybody each morning', async () => {
  await expectAgreement({
    rules: [
      {
        source: {
          cron: (minute) => `${minute} 9 * * *`,
          timezone: undefined,
          hasAudience: false,
          onDate: undefined,
          conditions: undefined,
        },
        action: { actionType: 'send_message', messages: [{ type: 'text', text: 'hello' }] },
        delay: () => undefined,
        limits: { frequency: 'every_time', cooldownSeconds: 0, reentry: 'always' },
      },
    ],
    ...{ quiet: undefined, cap: 1, capSeconds: 86_400, visits: [] },
    steps: ([25, 25, 25] as const).map((hours) => ({ does: 'move' as const, hours })),
  });
  const decided = `select distinct concat_ws(' ', decision, reason_code) from trigger_log where trigger_on = 'scheduled_action'
    and line_oa_id = (select max(line_oa_id) from trigger_log)`;
  expect(await columnOf(own.db, decided)).toEqual(['fired due']);
});
