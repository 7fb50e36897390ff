import { dueCampaign } from '@dueline/campaigns/testing';
import type { Db } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { afterChunk } from '../src/after-chunk.ts';
import { createCampaignJudge } from '../src/judge-campaign.ts';
import { audienceOf, claimOne, stage } from './campaign-stage.ts';
import { silent } from './limits/support.ts';

/** A started campaign of three chunks, of which LINE refuses those that are sent with `refused`, and a judge of `requests` of them. */
async function judged(db: Db, limits: { requests: number; percent: number }) {
  const { simulator, tenant, published, start, send } = await stage(db);
  const { id } = await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 1_250) });
  await start(await claimOne(db));
  const chunks = published.splice(0);
  let paused = 0;
  const sendChunk = async (chunk: number, { refused }: { refused: boolean }) => {
    const rule = { id: 'f', match: {}, effect: { type: 'status', status: 404 } as const };
    simulator.faults.set({ rules: refused ? [rule] : [] });
    const judge = createCampaignJudge({ db, log: silent, limits, onPaused: () => (paused += 1) });
    const onSettled = afterChunk({ db, log: silent, staleSeconds: 900, judge });
    return send(chunks.slice(chunk, chunk + 1), true, { onSettled });
  };
  return { id, tenant, sendChunk, paused: () => paused };
}

const states = (db: Db) => columnOf(db, `select concat_ws(' ', status, reason_code) from campaign`);

test('a campaign of whose last requests too many were refused pauses itself, with the numbers for a person, and sends no more', async () => {
  await using database = await testDb();
  const { db } = database;
  const { id, sendChunk, paused } = await judged(db, { requests: 2, percent: 50 });
  await sendChunk(0, { refused: true });
  expect(await states(db)).toEqual(['sending']); // one says nothing
  await sendChunk(1, { refused: true });
  expect(await states(db)).toEqual(['paused error_rate']);
  expect(await sendChunk(2, { refused: false })).toMatchObject({ outcome: 'discarded' });
  expect(paused()).toBe(1);
  expect(
    await columnOf(db, `select concat_ws(' ', kind, ref_id, reason_code, detail::text) from attention_item`),
  ).toEqual([`campaign_not_sent ${id} error_rate {"left": 1, "ended": 2, "percent": 50, "refused": 2}`]);

  await db.$client.query(`update campaign set status = 'scheduled', fence = fence + 1`); // a person lets it go on
  await db.$client.query(`update campaign set status = 'sending', fence = fence + 1, claimed_at = clock_timestamp()`);
  await sendChunk(2, { refused: true });
  expect(paused()).toBe(1); // what was known before does not count again
});

test.for([
  ['just half of them', { requests: 2, percent: 50 }, [false, true]],
  ['all of them, of which there are fewer than are judged', { requests: 3, percent: 50 }, [true, true]],
  ['all of them, where a campaign never pauses itself', { requests: 1, percent: 100 }, [true, true]],
] as const)('a campaign of which LINE refused %s goes on', async ([, limits, refusals]) => {
  await using database = await testDb();
  const { db } = database;
  const { sendChunk } = await judged(db, limits);
  for (const [chunk, refused] of refusals.entries()) await sendChunk(chunk, { refused });
  expect(await states(db)).toEqual(['sending']);
});
