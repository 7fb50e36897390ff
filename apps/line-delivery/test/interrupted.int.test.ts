import { reapCampaigns } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Db } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import type { FaultRule } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { audienceOf, claimOne, FRIENDS, membersOf, stage } from './campaign-stage.ts';

/** Beyond every back-off of what is in doubt. */
const AN_HOUR = 3_600;

const states = (db: Db) =>
  columnOf(db, `select concat_ws(' ', status, count(*)) from delivery group by status order by 1`);
const move = (db: Db, status: string) =>
  db.$client.query('update campaign set status = $1, fence = fence + 1', [status]);

const INTERRUPTIONS: Readonly<Record<string, (db: Db) => Promise<void>>> = {
  'paused and resumed': async (db) => {
    await move(db, 'paused');
    await move(db, 'scheduled');
  },
  'taken back because its sender gave no sign of life': async (db) => {
    await db.$client.query(`update campaign set claimed_at = clock_timestamp() - interval '16 minutes'`);
    expect(await reapCampaigns(db, { staleSeconds: 900 })).toBe(1);
  },
};
const FAILURES: Readonly<Record<string, Pick<FaultRule, 'effect' | 'phase'>>> = {
  'LINE took the second request, and its answer was lost': { effect: { type: 'reset' }, phase: 'afterAccept' },
  'LINE fell over before the second request': { effect: { type: 'status', status: 500 } },
};

test.for(Object.keys(INTERRUPTIONS).flatMap((how) => Object.keys(FAILURES).map((failure) => [how, failure] as const)))(
  'a campaign is %s after %s: it goes on where it was, and each has it once [SEM-122, SEM-123]',
  async ([how, failure]) => {
    await using database = await testDb();
    const { db } = database;
    const { simulator, tenant, published, start, send, pass, sendDue } = await stage(db);
    await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, FRIENDS), text: 'spring [[lid:spring]]' });
    await start(await claimOne(db));
    const [first, second, third] = published.splice(0);
    const { effect = { type: 'reset' as const }, phase } = FAILURES[failure] ?? {};
    simulator.faults.set({
      rules: [{ id: 'f', match: { endpoint: 'multicast', nth: [2] }, effect, ...(phase && { phase }) }],
    });
    for (const ticket of [first, second]) if (ticket !== undefined) await send([ticket]);
    expect(await states(db)).toEqual(['accepted 1', 'planned 2']);

    await INTERRUPTIONS[how]?.(db);
    expect(await send(third === undefined ? [] : [third])).toMatchObject({ outcome: 'discarded' });
    expect(await start(await claimOne(db))).toMatchObject({ detail: { result: 'resumed' } });
    await send(published.splice(0));
    await pass(AN_HOUR);
    await sendDue();

    expect([...simulator.ledger.receipts()].map(({ user }) => user).sort()).toEqual(membersOf(FRIENDS));
    expect(await states(db)).toEqual(['accepted 3']);
    expect(await columnOf(db, 'select status from campaign')).toEqual(['sent']);
    expect([...simulator.ledger.violations()]).toEqual([]);
  },
);

test.for([
  ['cancelled', `update campaign set status = 'cancel', fence = fence + 1`],
  ['deleted', 'update campaign set deleted_date = app_now()'],
] as const)(
  'of a campaign that is %s in the middle nothing goes out but what is at LINE already [SEM-126, SEM-127]',
  async ([, statement]) => {
    await using database = await testDb();
    const { db } = database;
    const { simulator, tenant, published, start, send } = await stage(db);
    await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, FRIENDS) });
    await start(await claimOne(db));
    const [first, ...others] = published.splice(0);
    simulator.faults.set({
      rules: [
        { id: 'slow', match: { endpoint: 'multicast' }, effect: { type: 'latency', ms: 700 }, phase: 'beforeAccept' },
      ],
    });

    const sending = send(first === undefined ? [] : [first]);
    await expect.poll(() => states(db)).toEqual(['planned 2', 'sending 1']);
    await db.$client.query(statement);
    expect(await send(others)).toMatchObject({ outcome: 'discarded' });
    await sending;

    expect([...simulator.ledger.receipts()].map(({ user }) => user).sort()).toEqual(membersOf(500));
    expect([...simulator.ledger.requests()]).toHaveLength(1);
  },
);
