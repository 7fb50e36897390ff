import { describe, expect, test } from 'vitest';
import { checkHistory, type HistoryReport, type InvariantId } from '../../src/index.ts';
import { CHANNEL } from '../support.ts';
import { at, createStory, LID, type Story } from './story.ts';

export const HOURS = 60;
/** Faults ended at the start, and the story is told two days later. */
const OPTIONS = { faultsEndedAt: at(0), endedAt: at(48 * HOURS), seed: '7' };

/** A history, and the invariants that it breaks: these and no others. */
export type Tale = [name: string, broken: readonly InvariantId[], tell: (story: Story) => void, options?: object];

const broken = ({ counts }: HistoryReport) => Object.entries(counts).flatMap(([id, count]) => (count > 0 ? [id] : []));

export async function report(tell: (story: Story) => void, options: object = {}) {
  const story = createStory();
  tell(story);
  return checkHistory({ ledger: story.ledger, records: story.records, ...OPTIONS, ...options });
}

/** Planned, sent, accepted and said so. */
export function sendWell(story: Story, users: readonly number[] = [1]): void {
  story.plan(users);
  const requestId = story.line({ users });
  story.attempt({ requestId });
  story.say('accepted', { users });
}

export const EVERYONE = { channelId: CHANNEL, lid: LID, user: '*' };
export const STOP = { kind: 'stop', verb: 'pause', channelId: CHANNEL } as const;

/** A test of each tale of some of the invariants. */
export function testTales(tales: Partial<Record<InvariantId, Tale[]>>): void {
  describe.each(Object.entries(tales))('%s', (_id, told) => {
    test.each(told)('%s: %j', async (_name, ids, tell, options) => {
      expect(broken(await report(tell, options))).toEqual(ids);
    });
  });
}
