import { installTimeMachine } from '@dueline/db';
import { type TestDb, testDb } from '@dueline/db/testing';
import { type DryRun, dryRun } from '@dueline/explain';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playWorld, worlds } from './random-world.ts';

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
  await installTimeMachine(own.db);
});
afterAll(() => own[Symbol.asyncDispose]());

const RUNS = 5;
const BEGINNING = '2000-01-01T00:00:00Z';

/** What the worker decided of events under a rule, as history has it. */
async function decided(ruleId: string): Promise<DryRun['draft']['outcomes']> {
  const { rows } = await own.db.$client.query(
    `select decision, reason_code as "reasonCode", count(*)::int as count from trigger_log
      where trigger_rule_id = $1 and trigger_on <> 'scheduled_action' group by 1, 2 order by 1, 2`,
    [ruleId],
  );
  return rows;
}
const sorted = (outcomes: DryRun['draft']['outcomes']) =>
  outcomes.toSorted((a, b) => `${a.decision} ${a.reasonCode}`.localeCompare(`${b.decision} ${b.reasonCode}`));

test('a dry run of a rule over what was just played decides what the worker decided, with all its limits', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { tenant, ruleIds } = await playWorld(own.db, world);
      for (const [n, ruleId] of ruleIds.entries()) {
        const draft = world.rules[n];
        if (draft === undefined) throw new Error('no rule');
        const run = await dryRun(own.db, tenant, { draft, from: BEGINNING, against: ruleId });
        expect(sorted(run.draft.outcomes), draft.sourceType).toEqual(sorted(await decided(ruleId)));
        expect(run.compared).toMatchObject({ gains: { people: 0 }, loses: { people: 0 } });
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}, 240_000);
