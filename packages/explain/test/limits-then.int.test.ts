import { FREQUENCIES, REENTRIES, type Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { createRule, liveRules, passGate } from '@dueline/trigger-rules';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Moment, mayFireAgain } from '../src/limits-then.ts';

let own: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'America/New_York' });
});
afterAll(() => own[Symbol.asyncDispose]());

/** Instants around days, weeks and changes of clocks of the zone, and how long after each other. */
const instants = fc
  .tuple(
    fc.constantFrom(
      '2026-03-08T04:59:59Z',
      '2026-03-09T03:30:00Z',
      '2026-11-01T05:00:00Z',
      '2026-11-02T04:59:59.999999Z',
    ),
    fc.array(fc.constantFrom(0, 1, 1_799, 1_800, 3_599, 3_600, 82_800, 86_400, 90_000, 604_800), {
      minLength: 1,
      maxLength: 6,
    }),
  )
  .map(([from, gaps]) => {
    const times = [Temporal.Instant.from(from)];
    for (const seconds of gaps) times.push((times.at(-1) ?? Temporal.Instant.from(from)).add({ seconds }));
    return times;
  });
const limits = fc.record({
  frequency: fc.constantFrom(...FREQUENCIES),
  cooldownSeconds: fc.constantFrom(0, 1_800, 90_000),
  reentry: fc.constantFrom(...REENTRIES),
});

function momentOf(at: Temporal.Instant): Moment {
  const day = at.toZonedDateTimeISO('America/New_York').toPlainDate();
  const week = day.subtract({ days: day.dayOfWeek - 1 });
  return { at: Number(at.epochNanoseconds / 1_000n), day: day.toString(), week: week.toString() };
}

test('of rows that there are no more, the gate is asked as the statement that decides asks it', async () => {
  await fc.assert(
    fc.asyncProperty(limits, instants, async (limit, times) => {
      const id = await createRule(own.db, tenant, ruleDraft(limit));
      const read = await inTransaction(own.db, (tx) => liveRules(tx, 'attribute_changed', [tenant]));
      const rule = read.flatMap((one) => (one.kind === 'rule' && one.rule.id === id ? one.rule : []))[0];
      if (rule === undefined) throw new Error('no rule');
      let last: Moment | undefined;
      for (const at of times) {
        await own.db.$client.query(
          `create or replace function app_now() returns timestamptz language sql stable as $$ select timestamptz '${at}' $$`,
        );
        const [passes] = await inTransaction(own.db, (tx) => passGate(tx, [{ rule, userId: lineUserId(1) }]));
        expect({ at, passes: mayFireAgain(rule, last, momentOf(at)) }).toEqual({ at, passes });
        if (passes === true) last = momentOf(at);
      }
    }),
    { numRuns: 40, endOnFailure: true },
  );
}, 120_000);
