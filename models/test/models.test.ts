import { TRANSITIONS as CAMPAIGN_MOVES } from '@dueline/campaigns';
import { TRANSITIONS as DELIVERY_MOVES } from '@dueline/deliveries';
import { TRANSITIONS as ACTION_MOVES } from '@dueline/scheduled-actions';
import { TRANSITIONS as CYCLE_MOVES } from '@dueline/scheduled-cycles';
import { describe, expect, it } from 'vitest';
import { campaign } from '../src/campaign.ts';
import { isAsExpected } from '../src/cases.ts';
import { check, type Protocol } from '../src/check.ts';
import { cycle } from '../src/cycle.ts';
import { type State as CycleState, readAll } from '../src/cycle-world.ts';
import { delivery } from '../src/delivery.ts';
import { dispatch } from '../src/dispatch.ts';
import { CASES } from '../src/models.ts';
import { wait } from '../src/wait.ts';

const TIMEOUT = 60_000; // each takes a second or two alone

describe('the protocols as designed', () => {
  it.each(CASES.filter(({ breaks }) => breaks === undefined))(
    '$protocol: every property holds in every interleaving',
    { timeout: TIMEOUT },
    ({ run }) => {
      const { states, failure } = run();
      expect(failure).toBeUndefined();
      expect(states).toBeGreaterThan(10_000);
    },
  );
});

describe('the variants', () => {
  it.each(CASES.filter(({ breaks }) => breaks !== undefined))(
    '$protocol: when $variant, this is broken: $breaks',
    { timeout: TIMEOUT },
    (variant) => {
      const result = variant.run();
      expect(isAsExpected(variant, result)).toBe(true);
      expect(result.failure?.trace.length).toBeGreaterThan(3);
    },
  );
});

/** Whether the protocol has a history that leads to such a state; a model that never gets there proves nothing about it. */
const reaches = <State>(protocol: Protocol<State>, isThere: (state: State) => boolean): boolean =>
  check({ ...protocol, always: { 'never there': (state) => !isThere(state) }, atRest: {} }).failure !== undefined;

describe('the models reach what they speak of', () => {
  it.each(['done', 'failed', 'cancelled'])(
    'an action that is %s, and one that a person revived before',
    (status) => {
      expect(reaches(dispatch, ({ row }) => row.status === status && row.gen === 0)).toBe(true);
      expect(reaches(dispatch, ({ row }) => row.status === status && row.gen === 1)).toBe(true);
    },
    TIMEOUT,
  );

  it.each(['accepted', 'refused', 'unknown', 'expired'])(
    'a delivery that is %s',
    (status) => {
      expect(reaches(delivery, (state) => state.status === status)).toBe(true);
    },
    TIMEOUT,
  );

  it(
    'a delivery that LINE accepted and its worker could not write down',
    () => {
      expect(reaches(delivery, ({ status, received }) => status === 'unknown' && received === 1)).toBe(true);
    },
    TIMEOUT,
  );

  it.each([0, 1, 'expired'])(
    'a wait that went the way %s',
    (branch) => {
      expect(reaches(wait, ({ acts }) => acts.includes(branch as never))).toBe(true);
    },
    TIMEOUT,
  );

  it(
    'a campaign that is sent, one that was paused before, and one that is cancelled when a part of it was sent',
    () => {
      expect(reaches(campaign, (state) => state.campaign.status === 'sent')).toBe(true);
      expect(reaches(campaign, (state) => state.campaign.status === 'sent' && state.campaign.resumes === 1)).toBe(true);
      const isPart = (received: readonly number[]) => received.includes(0) && received.includes(1);
      expect(reaches(campaign, (state) => state.campaign.status === 'cancel' && isPart(state.received))).toBe(true);
    },
    TIMEOUT,
  );
});

describe('the model of cycles', () => {
  it(
    'reaches one that is completed, one that was cancelled half read, one that was given up so, and two of which one waits for the other',
    () => {
      const isHalf = ({ cursor }: { cursor: number }) => cursor === 1;
      expect(reaches(cycle, ({ cycles }) => cycles.every(({ status }) => status === 'completed'))).toBe(true);
      expect(reaches(cycle, ({ cycles }) => cycles.some((it) => it.status === 'cancelled' && isHalf(it)))).toBe(true);
      expect(reaches(cycle, ({ cycles }) => cycles.some((it) => it.status === 'failed' && isHalf(it)))).toBe(true);
      expect(reaches(cycle, ({ cycles }) => cycles.length === 2 && cycles.every((it) => !readAll(it)))).toBe(true);
    },
    TIMEOUT,
  );

  it('reaches one that was paused half read and is completed', { timeout: TIMEOUT }, () => {
    let wasPaused = false;
    const note = ({ cycles }: { cycles: readonly { paused: boolean; cursor: number }[] }): true => {
      wasPaused ||= cycles.some(({ paused, cursor }) => paused && cursor === 1);
      return true;
    };
    const { failure } = check({ ...cycle, always: { 'every state is noted': note } });
    expect({ failure, wasPaused }).toEqual({ failure: undefined, wasPaused: true });
  });
});

/** Every change of status that the model makes, as `from>to`. */
function movesOf<State>(protocol: Protocol<State>, statusOf: (state: State) => string): Set<string> {
  const moves = new Set<string>();
  const note = (before: State, after: State): true => {
    if (statusOf(before) !== statusOf(after)) moves.add(`${statusOf(before)}>${statusOf(after)}`);
    return true;
  };
  check({ ...protocol, everyStep: { 'every move is noted': note } });
  return moves;
}

const movesIn = (table: Readonly<Record<string, readonly string[]>>): Set<string> =>
  new Set(Object.entries(table).flatMap(([from, tos]) => tos.filter((to) => to !== from).map((to) => `${from}>${to}`)));

describe('the models make the moves of the product', () => {
  it('an action: all of them', { timeout: TIMEOUT }, () => {
    expect(movesOf(dispatch, ({ row }) => row.status)).toEqual(movesIn(ACTION_MOVES));
  });

  it('a wait: those of a row that is decided, taken back or cancelled', { timeout: TIMEOUT }, () => {
    const moves = movesOf(wait, ({ row }) => row?.status ?? 'none');
    expect(moves.delete('none>pending')).toBe(true);
    const notModelled = ['pending>done', 'pending>failed', 'processing>failed', 'failed>pending', 'cancelled>pending'];
    expect(moves.union(new Set(notModelled))).toEqual(movesIn(ACTION_MOVES));
  });

  it('a delivery: all but those of people, of a worker that gives up, and of what is split', {
    timeout: TIMEOUT,
  }, () => {
    const notModelled = [
      'planned>cancelled',
      'sending>unknown',
      'refused>planned',
      'unknown>planned',
      'expired>planned',
      'cancelled>planned',
      'sending>split',
    ];
    expect(movesOf(delivery, ({ status }) => status).union(new Set(notModelled))).toEqual(movesIn(DELIVERY_MOVES));
  });

  it('a campaign: all but those from and to what it leaves out', { timeout: TIMEOUT }, () => {
    const leftOut = ['draft', 'failed', 'needs_attention'];
    const isLeftOut = (move: string) => move.split('>').some((status) => leftOut.includes(status));
    const moves = [...movesIn(CAMPAIGN_MOVES)].filter((move) => !isLeftOut(move));
    expect(movesOf(campaign, (state) => state.campaign.status)).toEqual(new Set(moves));
  });

  it('a cycle: all of them', { timeout: TIMEOUT }, () => {
    const moves = new Set<string>();
    const note = (before: CycleState, after: CycleState): true => {
      for (const [index, { status }] of after.cycles.entries()) {
        const was = before.cycles[index]?.status;
        if (was !== undefined && was !== status) moves.add(`${was}>${status}`);
      }
      return true;
    };
    check({ ...cycle, everyStep: { 'every move is noted': note } });
    expect(moves).toEqual(movesIn(CYCLE_MOVES));
  });
});
