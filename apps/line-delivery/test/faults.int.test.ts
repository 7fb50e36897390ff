import { columnOf, testDb } from '@dueline/db/testing';
import type { FaultRule } from '@dueline/line-simulator';
import { describe, expect, test } from 'vitest';
import { DEADLINE_MS, faultStage, type Way } from './fault-stage.ts';

const WAYS: readonly Way[] = ['push', 'chunk'];
const HOUR = 3_600;

/** What the first attempt meets. */
const first = (effect: FaultRule['effect'], phase?: FaultRule['phase']): FaultRule => ({
  id: 'first',
  match: { keyAttempt: [1] },
  effect,
  ...(phase && { phase }),
});

interface Row {
  /** As LINE's contract numbers it. */
  readonly id: string;
  readonly what: string;
  readonly rules: readonly FaultRule[];
  /** What the attempts prove, the last of them that it was accepted. */
  readonly outcomes: readonly string[];
}

const ACCEPTED_UNSEEN = ['ambiguous', 'already'];
const NOT_ACCEPTED = ['ambiguous', 'accepted'];

const ROWS: readonly Row[] = [
  {
    id: 'T02',
    what: 'a 500 after LINE accepted',
    rules: [first({ type: 'status', status: 500 }, 'afterAccept')],
    outcomes: ACCEPTED_UNSEEN,
  },
  {
    id: 'T03',
    what: 'a reset after LINE accepted',
    rules: [first({ type: 'reset' }, 'afterAccept')],
    outcomes: ACCEPTED_UNSEEN,
  },
  {
    id: 'T03',
    what: 'a closed connection after LINE accepted',
    rules: [first({ type: 'fin' }, 'afterAccept')],
    outcomes: ACCEPTED_UNSEEN,
  },
  { id: 'T03', what: 'a 200 that breaks off', rules: [first({ type: 'truncate' })], outcomes: ACCEPTED_UNSEEN },
  {
    id: 'T03',
    what: 'a reset, and two 409s that break off',
    rules: [
      first({ type: 'reset' }, 'afterAccept'),
      { id: 'cut', match: { keyAttempt: [2] }, effect: { type: 'truncate', part: 'head' } },
      { id: 'cut-again', match: { keyAttempt: [3] }, effect: { type: 'truncate', part: 'body' } },
    ],
    outcomes: ['ambiguous', 'ambiguous', 'ambiguous', 'already'],
  },
  {
    id: 'T03',
    what: 'silence after LINE accepted',
    rules: [first({ type: 'hang' }, 'afterAccept')],
    outcomes: ACCEPTED_UNSEEN,
  },
  { id: 'T03', what: 'a 200 with garbage', rules: [first({ type: 'garbage' })], outcomes: ACCEPTED_UNSEEN },
  {
    id: 'T04',
    what: 'a 503 before LINE accepted',
    rules: [first({ type: 'status', status: 503 }, 'beforeAccept')],
    outcomes: NOT_ACCEPTED,
  },
  {
    id: 'T04',
    what: 'a reset before LINE accepted',
    rules: [first({ type: 'reset' }, 'beforeAccept')],
    outcomes: NOT_ACCEPTED,
  },
  {
    id: 'T04',
    what: 'silence before LINE accepted',
    rules: [first({ type: 'hang' }, 'beforeAccept')],
    outcomes: NOT_ACCEPTED,
  },
  {
    id: 'T05',
    what: 'a LINE that accepts after the client has gone',
    rules: [first({ type: 'lateAccept', ms: DEADLINE_MS + 300 })],
    outcomes: ACCEPTED_UNSEEN,
  },
  { id: 'T20', what: 'a redirect', rules: [first({ type: 'redirect' })], outcomes: NOT_ACCEPTED },
  {
    id: 'T22',
    what: 'a 409 that names no accepted request',
    rules: [first({ type: 'conflict' }, 'beforeAccept')],
    outcomes: NOT_ACCEPTED,
  },
  {
    id: 'T22',
    what: 'such a 409 after LINE accepted',
    rules: [first({ type: 'conflict' }, 'afterAccept')],
    outcomes: ACCEPTED_UNSEEN,
  },
];
const cases = ROWS.flatMap((row) => WAYS.map((way) => ({ ...row, way })));

test.for(cases)('a $way that meets $what is repeated under its key and received once [$id]', async (given) => {
  await using database = await testDb();
  const { db } = database;
  const stage = await faultStage(db);
  await stage.plan(given.way, given.way === 'push' ? 1 : 10);
  stage.simulator.faults.set({ rules: given.rules });

  for (const _attempt of given.outcomes) {
    await stage.round();
    await stage.later();
  }

  expect(await stage.outcomes()).toEqual(given.outcomes);
  expect(await stage.states()).toEqual(['accepted']);
  expect(stage.receipts()).toHaveLength(given.way === 'push' ? 1 : 10);
  expect(stage.violations()).toEqual([]);
  const accepted = [...stage.simulator.ledger.accepts()].map(({ requestId }) => requestId);
  expect(await columnOf(db, 'select coalesce(line_accepted_request_id, line_request_id) from delivery')).toEqual(
    accepted,
  );
});

describe.each(WAYS)('a %s', (way) => {
  test('while nobody listens at LINE waits, and is received once when somebody does [T04]', async () => {
    await using database = await testDb();
    const stage = await faultStage(database.db);
    await stage.plan(way);
    await stage.simulator.scenario.listener('down');
    await stage.round();
    await stage.simulator.scenario.listener('up');
    await stage.later();
    await stage.round();

    expect(await stage.outcomes()).toEqual(['not_reached', 'accepted']);
    expect(stage.receipts()).toHaveLength(1);
  });

  test('to ten people of whom one has blocked the account is accepted for all, received by nine, and nine are counted [T13]', async () => {
    await using database = await testDb();
    const stage = await faultStage(database.db);
    const [blocked] = stage.people(1);
    await fetch(`${stage.simulator.controlUrl}/__sim/users/block`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ channelId: '2000000009', userIds: [blocked] }),
    });
    await stage.plan(way, 10);
    await stage.round();

    expect(await stage.states()).toEqual(['accepted']);
    expect(stage.receipts()).toHaveLength(9);
    const answer = await fetch(`${stage.simulator.apiUrl}/v2/bot/message/quota/consumption`, {
      headers: { authorization: 'Bearer a-token' },
    });
    expect(await answer.json()).toEqual({ totalUsage: 9 });
  });

  test('that LINE accepted unseen before it was away for a day ends as unknown after 23 hours, and its key is never used again [T17]', async () => {
    await using database = await testDb();
    const stage = await faultStage(database.db);
    await stage.plan(way);
    stage.simulator.faults.set({ rules: [first({ type: 'status', status: 500 }, 'afterAccept')] });
    await stage.round();
    await stage.simulator.scenario.listener('down');
    for (let hour = 0; hour < 25; hour += 1) {
      await stage.later(HOUR);
      await stage.round();
      expect(await stage.states()).toEqual([hour < 22 ? 'planned' : 'unknown']);
    }
    await stage.simulator.scenario.listener('up');
    await stage.later();
    await stage.round();

    expect([...stage.simulator.ledger.requests()]).toHaveLength(1);
    expect(stage.receipts()).toHaveLength(1);
    expect(stage.violations()).toEqual([]);
  });

  test('that is in doubt at every attempt is unknown after 23 hours, however many there were, and received once [T25]', async () => {
    await using database = await testDb();
    const stage = await faultStage(database.db);
    await stage.plan(way);
    stage.simulator.faults.set({
      rules: [{ id: 'always', effect: { type: 'status', status: 500 }, phase: 'afterAccept' }],
    });
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await stage.round();
      await stage.later();
    }
    expect(await stage.states()).toEqual(['planned']);
    await stage.later(23 * HOUR);
    await stage.round();

    expect(await stage.outcomes()).toEqual(Array.from({ length: 5 }, () => 'ambiguous'));
    expect(await stage.states()).toEqual(['unknown']);
    expect(stage.receipts()).toHaveLength(1);
  });

  test('that never reached LINE until it was too late ends as expired, and nobody receives it [T18]', async () => {
    await using database = await testDb();
    const stage = await faultStage(database.db);
    await stage.plan(way);
    await stage.simulator.scenario.listener('down');
    await stage.round();
    await stage.later(25 * HOUR);
    await stage.simulator.scenario.listener('up');
    await stage.round();
    await stage.round();

    expect(await stage.states()).toEqual(['expired']);
    expect([...stage.simulator.ledger.requests()]).toEqual([]);
  });
});
