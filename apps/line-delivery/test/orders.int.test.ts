import { inTransaction } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { closeOverdueDeliveries } from '@dueline/deliveries';
import { nthUserId } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { CHANNEL, type Stage, stage, startedTo } from './campaign-stage.ts';

type Check = 'rateLimit' | 'keySyntax' | 'keyAccepted' | 'validation';
const CHECKS: readonly Check[] = ['rateLimit', 'keySyntax', 'keyAccepted', 'validation'];

const permutations = (of: readonly Check[]): Check[][] =>
  of.length === 0
    ? [[]]
    : of.flatMap((first) => permutations(of.filter((x) => x !== first)).map((rest) => [first, ...rest]));

const MEMBERS = [0, 1, 2].map((n) => nthUserId('e', n));
const GONE = nthUserId('e', 2);
const HOUR = 3_600;

/** What LINE does to each of three sends, told apart by their marks. */
const lost = (lid: string) => ({
  ...{ id: `lost-${lid}`, match: { keyAttempt: [1], bodyContains: `[[lid:${lid}]]` } },
  ...{ phase: 'afterAccept' as const, effect: { type: 'status' as const, status: 500 } },
});
const refusedOnce = {
  ...{ id: 'refused', match: { keyAttempt: [2], bodyContains: '[[lid:refused]]' } },
  ...{ phase: 'beforeAuth' as const, effect: { type: 'poison' as const, users: MEMBERS } },
};

const outcomesOf = ({ db }: Stage, campaignId: string) =>
  columnOf(
    db,
    `select outcome from delivery_attempt join delivery on delivery.id = delivery_id where campaign_id = $1 order by attempt_no`,
    [campaignId],
  );

test.for(permutations(CHECKS))(
  'whatever LINE checks first (%s, %s, %s, %s): an answer that was lost is asked for under its key, with a refusal in between or with one for ever, nothing is split, and nobody receives twice [T02] [T15a] [T15b] [T33]',
  { timeout: 30_000 },
  async (order) => {
    await using database = await testDb();
    const { db } = database;
    const on = await stage(db, { order, multicastUnknownUser: 'reject400' });
    on.simulator.faults.set({ rules: [...['plain', 'refused', 'gone'].map(lost), refusedOnce] });
    const sendFor = async (hours: number) => {
      for (let hour = 0; hour < hours; hour += 1) {
        await on.sendDue();
        await on.pass(HOUR);
      }
    };
    const plain = await startedTo(on, MEMBERS, { lid: 'plain' });
    const refused = await startedTo(on, MEMBERS, { lid: 'refused' });
    await sendFor(3);
    expect(await outcomesOf(on, plain)).toEqual(['ambiguous', 'already']);
    expect(await outcomesOf(on, refused)).toEqual(['ambiguous', 'refused', 'already']);

    const gone = await startedTo(on, MEMBERS, { lid: 'gone' });
    await sendFor(1);
    await on.control('users/forget', { channelId: CHANNEL.channelId, userIds: [GONE] });
    await sendFor(23);
    await inTransaction(db, closeOverdueDeliveries);
    const isRefusedFirst = order.indexOf('validation') < order.indexOf('keyAccepted');
    expect(await columnOf(db, 'select status from delivery order by id')).toEqual([
      ...['accepted', 'accepted', isRefusedFirst ? 'unknown' : 'accepted'],
    ]);
    const [first, second, ...later] = await outcomesOf(on, gone);
    expect([first, second]).toEqual(['ambiguous', isRefusedFirst ? 'refused' : 'already']);
    expect(new Set(later)).toEqual(new Set(isRefusedFirst ? ['refused'] : []));

    expect([...on.simulator.ledger.receipts()]).toHaveLength(9);
    expect([...on.simulator.ledger.violations()].filter(({ code }) => code !== 'V11')).toEqual([]);
  },
);
