import { installTimeMachine } from '@dueline/db';
import { type TestDb, testDb } from '@dueline/db/testing';
import { explain } from '@dueline/explain';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playWorld, worlds } from './random-world.ts';

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
  await installTimeMachine(own.db);
});
afterAll(() => own[Symbol.asyncDispose]());

const RUNS = 4;

interface Met {
  eventId: string;
  userId: string;
  decision: string | null;
  reasonCode: string | null;
}

/** Every event of an account, and what history says of this rule and it. */
async function meetings(ruleId: string, lineOaId: string): Promise<Met[]> {
  const { rows } = await own.db.$client.query<Met>(
    `select archive.event_id as "eventId", archive.user_id as "userId", decision, reason_code as "reasonCode"
       from event_archive as archive left join trigger_log as log
         on log.event_id = archive.event_id and log.trigger_rule_id = $1 and log.trigger_on <> 'scheduled_action'
      where archive.line_oa_id = $2 and topic <> 'delivery_settled'`,
    [ruleId, lineOaId],
  );
  return rows;
}

test('what explain says of any rule and event is what the worker decided, and its evaluator says the same on the past', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const { tenant, ruleIds } = await playWorld(own.db, world);
      for (const ruleId of ruleIds)
        for (const { eventId, userId, decision, reasonCode } of await meetings(ruleId, tenant.lineOaId)) {
          const explained = await explain(own.db, tenant, { ruleId, userId, eventId });
          const { reason, basis, fired, computed } = explained;
          if (decision === null) {
            expect({ reason, basis, fired, computed }).toEqual({
              ...{ reason: 'source_not_matched', basis: 'computed', fired: false, computed: null },
            });
            continue;
          }
          const isFired = decision === 'fired' || decision === 'scheduled';
          expect({ reason, basis, fired }).toEqual({ reason: reasonCode, basis: 'history', fired: isFired });
          expect(computed, explained.says).toMatchObject({ decision, reasonCode });
        }
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}, 240_000);
