import type { Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import type { ScheduledRule } from '@dueline/trigger-rules';
import { isLimited } from '../limits-then.ts';
import type { Account } from '../rule-then.ts';
import { createTally, type RunOfRule, type Sample } from '../tally.ts';
import { loadTracks, type Track } from '../track.ts';
import { type Ahead, createAhead } from './ahead.ts';
import { cyclesBetween } from './instants.ts';
import type { Page } from './judge.ts';
import { countPeople, loadPeople, streamPeople } from './people.ts';
import { type Fate, playPerson } from './play-person.ts';
import { loadTimedRule, type TimedRule } from './timed-rule.ts';
import { createTimes } from './times.ts';

/** A rule that is set off by time, whose cycles of a range meet the people of the account. */
export interface CycleRun {
  /** People for whom it fires, the last id first. */
  play(): AsyncGenerator<Sample>;
  result(): RunOfRule;
  /** How many decisions asked about a value that the history had cut. */
  uncertain(): number;
  /** The messages of it that are still to come; null: all of the range is over. */
  ahead(): Promise<Ahead | null>;
}

/** People times cycles of one dry run, at most; ours: some minutes. */
const MAX_MEETINGS = 10_000_000;
/** The same of one page: what memory holds is proportional to it. */
const MEETINGS_OF_PAGE = 100_000;
const MAX_PAGE = 1_000;
const MIN_PAGE = 50;

/** What a run is over: a range, and the rule. */
interface Asked {
  readonly rule: ScheduledRule;
  readonly range: { readonly playedFrom: string; readonly to: string };
}

/** @throws PermanentError when the range has more cycles, or they meet more people, than one dry run looks at. */
export async function createCycleRun(tx: Tx, account: Account, { rule, range }: Asked): Promise<CycleRun> {
  const cycles = cyclesBetween(rule, account, { from: range.playedFrom, to: range.to });
  const of = await loadTimedRule(tx, account, { rule, cycles });
  if (cycles.length > 0) checkSize(await countPeople(tx, of), cycles.length);
  const tally = createTally(cycles.length);
  const ahead = await createAhead(tx, range);
  const when = cycles.map((at) => ({ day: dayOf(at, account), at: textOf(at) }));
  let uncertain = 0;
  const tell = (userId: string) => (fate: Fate) => {
    if (fate.isUncertain) uncertain += 1;
    const { day, at } = when[fate.n] ?? { day: '', at: '' };
    tally.count(day, fate.verdict, { userId, eventId: null, at });
    if (fate.message === undefined) return;
    tally.message(day, fate.message.became);
    ahead.count(fate.message);
  };
  return {
    play: async function* () {
      if (cycles.length === 0) return;
      const loadPage = createPages(tx, of, range);
      const size = Math.min(MAX_PAGE, Math.max(MIN_PAGE, Math.floor(MEETINGS_OF_PAGE / cycles.length)));
      for await (const userIds of streamPeople(tx, of, size)) {
        const { page, trackOf } = await loadPage(userIds);
        for (const userId of userIds) {
          for (const fate of playPerson(of, page, { userId, track: trackOf(userId) })) tell(userId)(fate);
          const sample = tally.endPerson();
          if (sample !== undefined) yield sample;
        }
      }
    },
    result: tally.result,
    uncertain: () => uncertain,
    ahead: () => ahead.result(account),
  };
}

/** Reads each page once for all cycles. */
function createPages(tx: Tx, of: TimedRule, range: Asked['range']) {
  const loadTimes = createTimes(of);
  const [first = 0] = of.cycles;
  const hasLimits = isLimited(of.rule) || of.rule.isCapped;
  return async (userIds: readonly string[]): Promise<{ page: Page; trackOf: (userId: string) => Track }> => {
    const people = await loadPeople(tx, of, { userIds, sinceMicros: first });
    const met = userIds.flatMap((userId) => of.cycles.flatMap((at) => people.asOf(userId, at)?.user ?? []));
    const times = await loadTimes(tx, met);
    const asked = { rule: of.rule, userIds, before: microsOf(range.playedFrom), until: microsOf(range.to) };
    const trackOf = hasLimits ? await loadTracks(tx, of.account, asked) : () => NO_TRACK;
    return { page: { people, times }, trackOf };
  };
}

const NO_TRACK: Track = { lastFired: undefined, open: [], sent: [] };
const microsOf = (instant: string): number => Number(Temporal.Instant.from(instant).epochNanoseconds / 1_000n);
const textOf = (micros: number): string => new Date(micros / 1_000).toISOString();
const dayOf = (micros: number, { timezone }: Account): string =>
  Temporal.Instant.fromEpochMilliseconds(micros / 1_000)
    .toZonedDateTimeISO(timezone)
    .toPlainDate()
    .toString();

function checkSize(people: number, cycles: number): void {
  if (people * cycles <= MAX_MEETINGS) return;
  const number = (value: number) => value.toLocaleString('en');
  const fits = Math.floor(MAX_MEETINGS / people);
  const shorter = fits === 0 ? '' : `a range of ${number(fits)} cycles at most, or `;
  throw new PermanentError(
    `${number(people)} people and ${number(cycles)} cycles are more than the ${number(MAX_MEETINGS)} meetings of one dry run: choose ${shorter}an audience for the rule`,
  );
}
