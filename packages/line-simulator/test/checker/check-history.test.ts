import { expect, test } from 'vitest';
import { checkHistory } from '../../src/index.ts';
import { CHANNEL, user } from '../support.ts';
import { at, createStory, LID, type Story } from './story.ts';
import { report, sendWell } from './tales.ts';

test('a finding says who, what, every accept and attempt, the faults and the seed', async () => {
  const { findings, ok, checked } = await report((story) => {
    story.plan();
    const first = story.line({ status: 503, accepted: true, fault: 'f6' });
    story.attempt({ outcome: 'AMBIGUOUS', requestId: first });
    const second = story.line({ key: 2, minute: 1 });
    story.attempt({ key: 2, minute: 1, requestId: second });
    story.say('accepted', { key: 2 });
  });
  expect(ok).toBe(false);
  expect(checked).toEqual({ recipients: 1, attempts: 2, requests: 2, accepts: 2, receipts: 2 });
  expect(findings).toEqual([
    {
      invariant: 'H1',
      channelId: CHANNEL,
      lid: LID,
      user: user(1),
      sentence: `${LID} for ${user(1)} was received 2 times`,
      accepts: [
        expect.objectContaining({ seq: 1, retryKey: '00000000-0000-8000-8000-000000000001', at: at(0) }),
        expect.objectContaining({ seq: 2, retryKey: '00000000-0000-8000-8000-000000000002', at: at(1) }),
      ],
      attempts: [
        expect.objectContaining({ outcome: 'AMBIGUOUS', startedAt: at(0) }),
        expect.objectContaining({ outcome: 'ACCEPTED', startedAt: at(1) }),
      ],
      faultIds: ['f6'],
      seed: '7',
    },
  ]);
});

test('of many breaches all are counted and the first are told', async () => {
  const { counts, findings } = await report((story) => {
    const users = Array.from({ length: 100 }, (_, n) => n);
    sendWell(story, users);
    story.line({ key: 2, users });
  });
  expect(counts.H1).toBe(100);
  expect(findings).toHaveLength(20);
});

test('what cannot be judged without knowing when the faults ended is said to be skipped', async () => {
  const tell = (story: Story) => story.plan();
  expect(await report(tell, { faultsEndedAt: undefined })).toMatchObject({ ok: true, skipped: ['H6', 'H7'] });
  expect(await report(tell, { endedAt: undefined })).toMatchObject({ ok: true, skipped: ['H7'] });
  expect(await report(tell, {})).toMatchObject({ ok: false, skipped: [] });
});

test.each(['requests', 'accepts', 'receipts'] as const)(
  'a ledger that lacks some of its %s is refused',
  async (table) => {
    const story = createStory();
    sendWell(story);
    story.line({ key: 2 });
    story.ledger[table]().shift();
    await expect(checkHistory({ ledger: story.ledger, records: [] })).rejects.toThrow('the ledger lacks');
  },
);
