import type { ReceiptRow } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { userOf } from '../src/accounts.ts';
import { type EndedRow, judgeEndings } from '../src/endings.ts';
import type { Told } from '../src/people.ts';
import type { PlannedAction } from '../src/plan.ts';

const ACTION: PlannedAction = { n: 7, account: 0, kind: 'plain', delaySeconds: 1, holds: true, onExpired: 'skip' };
const waiting = (onExpired: PlannedAction['onExpired']): PlannedAction => ({ ...ACTION, kind: 'waiting', onExpired });
const DONE: EndedRow = {
  ...{ n: 7, status: 'done', cancelReason: null, branch: 'due', dueMs: 1_000, clicks: 0, lateClicks: 0 },
  deliveries: ['accepted'],
};
const cancelled = (cancelReason: string, branch: string | null = null): EndedRow => ({
  ...{ ...DONE, cancelReason, branch },
  ...{ status: 'cancelled', deliveries: [] },
});
const receipt = (atMs: number): ReceiptRow => ({
  ...{ seq: 1, acceptSeq: 1, channelId: '1', user: userOf(ACTION), lid: 'a7.0', requestId: 'r', retryKey: null },
  at: new Date(atMs).toISOString(),
});

interface Case {
  readonly what: string;
  readonly action?: PlannedAction;
  readonly row: EndedRow;
  readonly told?: Told;
  /** What its person is to receive. */
  readonly lid?: string;
}
const byPerson: Told = { version: 0, isCancelled: true };

const RIGHT: readonly Case[] = [
  { what: 'an action that is done', row: DONE, lid: 'a7.0' },
  { what: 'an edited one with its last content', row: DONE, told: { version: 2, isCancelled: false }, lid: 'a7.2' },
  { what: 'one cancelled by a person', row: cancelled('by_person'), told: byPerson },
  { what: 'one whose message a person cancelled', row: { ...DONE, deliveries: ['cancelled'] }, told: byPerson },
  {
    what: 'one whose condition does not hold',
    action: { ...ACTION, kind: 'checked', holds: false },
    row: cancelled('conditions_no_longer_hold', 'due'),
  },
  { what: 'a wait with a click', action: waiting('skip'), row: { ...DONE, branch: 'clicked', clicks: 1 }, lid: 'a7.0' },
  { what: 'a wait without one, skipped', action: waiting('skip'), row: cancelled('wait_expired', 'expired') },
  { what: 'a wait without one, run', action: waiting('run'), row: { ...DONE, branch: 'expired' }, lid: 'a7.0' },
  { what: 'a wait without one, instead', action: waiting('instead'), row: { ...DONE, branch: 'expired' }, lid: 'a7.x' },
  {
    what: 'a wait whose click came with its decision',
    action: waiting('run'),
    row: { ...DONE, branch: 'expired', clicks: 1, lateClicks: 1 },
    lid: 'a7.0',
  },
];

test.for(RIGHT)('$what ended as it had to', ({ action = ACTION, row, told, lid }) => {
  const { planned, wrong } = judgeEndings([action], {
    ...{ rows: [row], receipts: [] },
    told: new Map(told === undefined ? [] : [[7, told]]),
  });

  expect(wrong).toEqual([]);
  expect(planned).toEqual(lid === undefined ? [] : [{ user: userOf(ACTION), lid }]);
});

const WRONG: readonly Case[] = [
  { what: 'a failed one', row: { ...DONE, status: 'failed', deliveries: [] } },
  { what: 'one cancelled though nobody did', row: cancelled('by_person') },
  { what: 'one done though it was cancelled', row: DONE, told: byPerson },
  { what: 'one without its message', row: { ...DONE, deliveries: [] } },
  { what: 'one with two messages', row: { ...DONE, deliveries: ['accepted', 'accepted'] } },
  { what: 'a wait that missed its click', action: waiting('run'), row: { ...DONE, branch: 'expired', clicks: 1 } },
  { what: 'a wait that saw a click that is none', action: waiting('run'), row: { ...DONE, branch: 'clicked' } },
];

test.for(WRONG)('$what is noticed', ({ action = ACTION, row, told }) => {
  const { wrong } = judgeEndings([action], {
    ...{ rows: [row], receipts: [] },
    told: new Map(told === undefined ? [] : [[7, told]]),
  });

  expect(wrong).toHaveLength(1);
});

test('an action without a row is noticed, and a message before its time', () => {
  const found = { told: new Map<number, Told>(), receipts: [receipt(990)] };

  expect(judgeEndings([ACTION], { ...found, rows: [] }).wrong).toEqual(['action 7 has no row']);
  expect(judgeEndings([ACTION], { ...found, rows: [DONE] }).early).toHaveLength(1);
  expect(judgeEndings([ACTION], { ...found, rows: [DONE], receipts: [receipt(1_000)] }).early).toEqual([]);
});
