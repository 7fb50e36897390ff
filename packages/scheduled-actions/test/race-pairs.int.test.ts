import { checkInvariants, DB_INVARIANTS } from '@dueline/db';
import { SCHEDULED_ACTION_INVARIANTS } from '@dueline/scheduled-actions';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkVersions, isChange } from './history-rules.ts';
import { EDITED, OPERATIONS, type OperationName, type RaceOperation } from './race-operations.ts';
import { openStage, type Race, type Raced, race, type Stage } from './race-stage.ts';
import { deadlocks, FIRST_FENCE, STATES, type StateName } from './race-states.ts';

const NAMES = Object.keys(OPERATIONS) as OperationName[];
const operation = (name: OperationName): RaceOperation => OPERATIONS[name];

const OF_WHAT_IS_PENDING = ['claim', 'decide inline', 'fact', 'rule deleted', 'look for facts'] as const;
const OF_WHAT_IS_CLAIMED = [
  ...(['hold and finish', 'expire', 'release', 'reap'] as const),
  ...(['failed decision', 'release of what nobody took'] as const),
];
const OF_WHAT_IS_OPEN = ['cancel', 'edit', 'fire now', 'crash evidence', 'date moved'] as const;

/** Who never finds a row that both could move. They are raced all the same, in the states of each: one of them at most moves it. */
const APART: readonly [readonly OperationName[], readonly OperationName[], why: string][] = [
  [
    OF_WHAT_IS_PENDING,
    OF_WHAT_IS_CLAIMED,
    'what is pending is in nobody’s hand; a ticket of it is of an earlier claim',
  ],
  [['fact', 'look for facts', 'expire'], ['date moved'], 'a row waits for a fact or hangs on a date, not both'],
  [['revive'], [...OF_WHAT_IS_PENDING, ...OF_WHAT_IS_CLAIMED, ...OF_WHAT_IS_OPEN], 'only what ended is revived'],
];
const areApart = (one: OperationName, other: OperationName): boolean =>
  APART.some(([these, those]) =>
    [these, those].some((left, at) => left.includes(one) && [those, these][at]?.includes(other)),
  );

/** The states in which two meet: those in which each would move the row; where there are none, those in which one would. */
function statesOf(first: OperationName, second: OperationName): StateName[] {
  const [ones, others] = [operation(first).moves, operation(second).moves];
  const common = ones.filter((state) => others.includes(state));
  const states = common.length > 0 ? common : [...new Set([...ones, ...others])];
  return states.filter((state) => STATES[state].waits || ![first, second].includes('expire')); // what does not wait does not expire
}

const RACES: Race[] = NAMES.flatMap((first) =>
  NAMES.flatMap((second) => statesOf(first, second).map((state) => ({ first, second, state }))),
);

/** Nobody announces events here. */
const AUDIT = [...SCHEDULED_ACTION_INVARIANTS, ...DB_INVARIANTS.filter(({ id }) => id !== 'I15.event_outbox')];

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Who waited for a row that another held, and who passed by one. */
const waiters = new Set<string>();
const passersBy = new Set<string>();

test('of every two operations, in both orders, there is a race, or a reason why they never meet', () => {
  for (const first of NAMES)
    for (const second of NAMES) {
      const states = RACES.filter((one) => one.first === first && one.second === second).map(({ state }) => state);
      const shared = states.filter((state) => [first, second].every((name) => operation(name).moves.includes(state)));
      expect(states, `${first}, ${second}`).not.toEqual([]);
      expect(shared.length === 0, `${first}, ${second}`).toBe(areApart(first, second));
    }
});

test.for(RACES)(
  '[I1] a row, $state: $first, and before its commit $second [SEM-044, SEM-053, SEM-067]',
  async (about) => {
    const raced = await race(stage, about);
    checkMoves(raced);
    checkWinners(about, raced);
    checkEnd(about, raced);
    if (raced.held) (raced.waited ? waiters : passersBy).add(about.second);
  },
);

test('after all races the audit finds nothing', async () => {
  const audit = await checkInvariants(stage.own.db, AUDIT, {
    ...{ leaseOverSeconds: 0, silentSeconds: 0, overdueSeconds: 0, historyDays: 1 },
  });
  expect(audit.filter(({ violations }) => violations > 0)).toEqual([]);
});

test('every operation has met a row that another held: those that skip it never waited, the others did', () => {
  const skipping = NAMES.filter((name) => operation(name).held === 'skips');
  expect([...waiters].sort()).toEqual(NAMES.filter((name) => !skipping.includes(name)).sort());
  expect([...passersBy]).toEqual(expect.arrayContaining(skipping));
});

test('no race was a deadlock [I27]', async () => {
  expect(await deadlocks(stage.own.db)).toEqual(['0']);
});

/** Every move is told, and each is legal. */
function checkMoves({ told, versions, row, allVersions }: Raced): void {
  const moves = told[0].moves + told[1].moves;
  expect(row.fence - FIRST_FENCE, 'every move that was told has its fence').toBe(moves);
  expect(versions.filter(isChange), 'every change was told').toHaveLength(moves);
  checkVersions(allVersions);
}

/** Who came first did as if alone; who came second passes by what is held, or finds another fence, or judges what it finds. */
function checkWinners({ first, second, state }: Race, raced: Raced): void {
  const [one, two] = [raced.told[0].moves, raced.told[1].moves];
  expect(one > 0, 'the first').toBe(operation(first).moves.includes(state));
  expect(two > 0, 'the second').toBe(movesOfSecond({ first, second, state }, raced));
  if (operation(second).held === 'skips') expect(raced.waited, 'it waits for nobody').toBe(false);
  if (raced.told[1].factBranch !== undefined) expect(raced.told[1].factBranch).toBe(raced.row.branch);
}

function movesOfSecond({ first, second, state }: Race, { told, held, versions }: Raced): boolean {
  const { held: manner, moves } = operation(second);
  const left = versions[0]?.after;
  if (held && manner === 'skips') return false;
  if (told[0].moves === 0 || left === undefined) {
    return moves.includes(state) && !(first === 'rule deleted' && second === 'revive');
  }
  if (typeof manner === 'string') return false;
  return manner(left);
}

const isDecision = (name: OperationName) => ['hold and finish', 'expire', 'decide inline'].includes(name);

/** Nothing is stuck, and what came of it is what the operations that moved the row were for. */
function checkEnd({ first, second, state }: Race, { told, last, decisions, byLosers }: Raced): void {
  const moved = [first, second].filter((_, at) => told[at]?.moves === 1);
  const isDecidedFirst = isDecision(first) && moved.includes(first);
  expect(['done', 'failed', 'cancelled']).toContain(last.status);
  expect(byLosers, 'the ticket of a loser holds no row').toBe(0);
  expect(decisions.length, 'decided once').toBeLessThanOrEqual(1);
  const effects = decisions.filter(({ to }) => to === 'done');
  expect(effects).toHaveLength(last.status === 'done' ? 1 : 0);
  for (const { text } of effects) expect(text).toBe(moved.includes('edit') ? EDITED : 'hello');
  if (last.status === 'done')
    expect(last.attempt, 'only failed decisions cost a try').toBe(1 + Number(last.retry_count));
  if (moved.includes('cancel')) expect(last).toMatchObject({ status: 'cancelled', cancel_reason: 'by_person' });
  if ([first, second].includes('rule deleted') && !isDecidedFirst) expect(effects).toEqual([]);
  if (!STATES[state].waits) return;
  const isFactKnown = [first, second].some((name) => name === 'fact' || name === 'look for facts') && !isDecidedFirst;
  for (const { branch } of decisions) expect(branch).toBe(isFactKnown ? 'clicked' : 'expired');
}
