import { installTimeMachine } from '@dueline/db';
import { type TestDb, testDb } from '@dueline/db/testing';
import { type DryRun, dryRun } from '@dueline/explain';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cycleWorlds, playCycles } from './random-cycles.ts';

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
/** What waits for a click is not followed. */
const sorted = (outcomes: DryRun['draft']['outcomes']) =>
  outcomes
    .map(({ decision, reasonCode, count }) => `${decision} ${reasonCode} ${count}`)
    .toSorted((a, b) => a.localeCompare(b));

async function sent(ruleId: string): Promise<number> {
  const { rows } = await own.db.$client.query<{ sent: number }>(
    'select count(*)::int as sent from delivery where trigger_rule_id = $1',
    [ruleId],
  );
  return rows[0]?.sent ?? 0;
}

test('a dry run of a rule that is set off by time decides what its cycles decided, read and decided by the worker', async () => {
  await fc.assert(
    fc.asyncProperty(cycleWorlds, async (world) => {
      const { tenant, rules, from, to } = await playCycles(own.db, world);
      for (const { id, document } of rules) {
        const run = await dryRun(own.db, tenant, { draft: document, from, to, against: id });
        const says = JSON.stringify(document);
        if (document.actionConfig.delay?.mode === 'waitForTracking') continue;
        expect(sorted(run.draft.outcomes), says).toEqual(sorted(await fates(id)));
        const { sent: atOnce, shifted } = run.draft.messages;
        expect(atOnce + shifted, says).toBe(await sent(id));
        expect(run.compared).toMatchObject({ gains: { people: 0 }, loses: { people: 0 } });
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}, 240_000);
