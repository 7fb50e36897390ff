import type { Tx } from '@dueline/db';
import type { TriggerRule } from '@dueline/trigger-rules';
import type { Ahead } from './cycles/ahead.ts';
import { type CycleRun, createCycleRun } from './cycles/run.ts';
import { isTimed } from './cycles/timed-rule.ts';
import { playEvents } from './play-events.ts';
import type { Account } from './rule-then.ts';
import { createRun, type Run } from './run.ts';
import type { RunOfRule, Sample } from './tally.ts';

/** What a range is played to: a draft, and the rule that it is compared with. */
export interface Sides {
  readonly draft: TriggerRule;
  readonly live: TriggerRule | undefined;
}

/** When a person is first fired for, by the draft and by the rule; undefined: never. */
interface Both {
  readonly draft: Sample | undefined;
  readonly live: Sample | undefined;
}

/** What both sides make of a range. */
export interface Played {
  readonly draft: RunOfRule;
  readonly live: RunOfRule | undefined;
  readonly uncertain: number;
  /** Of the draft; null: nothing of it is still to come. */
  readonly ahead: Ahead | null;
}

interface Playing extends Sides {
  readonly range: { readonly playedFrom: string; readonly to: string };
  /** Is told of each person for whom either may fire. */
  readonly onPerson: (both: Both) => void;
}

/** Plays a range to both sides in one pass: what events set off, from the archive, what time sets off, from the calendar. */
export async function playSides(tx: Tx, account: Account, { draft, live, range, onPerson }: Playing): Promise<Played> {
  const runs = {
    draft: await sideOf(tx, account, { rule: draft, range }),
    live: live && (await sideOf(tx, account, { rule: live, range })),
  };
  const pairs =
    !('play' in runs.draft) && runs.live !== undefined && !('play' in runs.live)
      ? bothOfEvents(tx, account, { draft: runs.draft, live: runs.live, range })
      : merged(
          peopleOf(tx, account, { run: runs.draft, range }),
          runs.live && peopleOf(tx, account, { run: runs.live, range }),
        );
  for await (const both of pairs) onPerson(both);
  return {
    draft: runs.draft.result(),
    live: runs.live?.result(),
    uncertain: runs.draft.uncertain(),
    ahead: 'play' in runs.draft ? await runs.draft.ahead() : null,
  };
}

type Range = Pick<Playing, 'range'>;

const sideOf = async (
  tx: Tx,
  account: Account,
  { rule, range }: Range & { rule: TriggerRule },
): Promise<Run | CycleRun> => (isTimed(rule) ? createCycleRun(tx, account, { rule, range }) : createRun(account, rule));

/** Two rules that events set off meet them side by side. */
async function* bothOfEvents(
  tx: Tx,
  account: Account,
  { draft, live, range }: Range & { draft: Run; live: Run },
): AsyncGenerator<Both> {
  for await (const [ofDraft, ofLive] of playEvents(tx, account, { runs: [draft, live], range }))
    yield { draft: ofDraft, live: ofLive };
}

async function* peopleOf(
  tx: Tx,
  account: Account,
  { run, range }: Range & { run: Run | CycleRun },
): AsyncGenerator<Sample> {
  if ('play' in run) yield* run.play();
  else
    for await (const [sample] of playEvents(tx, account, { runs: [run], range }))
      if (sample !== undefined) yield sample;
}

/** Two streams of people, the last id first in each, as one. */
async function* merged(draft: AsyncGenerator<Sample>, live: AsyncGenerator<Sample> | undefined): AsyncGenerator<Both> {
  const next = async (of: AsyncGenerator<Sample> | undefined): Promise<Sample | undefined> => {
    const read = await of?.next();
    return read === undefined || read.done === true ? undefined : read.value;
  };
  let [left, right] = [await next(draft), await next(live)];
  while (left !== undefined || right !== undefined) {
    const isLeft = left !== undefined && (right === undefined || left.userId >= right.userId);
    const isRight = right !== undefined && (left === undefined || right.userId >= left.userId);
    yield { draft: isLeft ? left : undefined, live: isRight ? right : undefined };
    if (isLeft) left = await next(draft);
    if (isRight) right = await next(live);
  }
}
