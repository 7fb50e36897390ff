import type { Tenant } from '@dueline/contracts';
import { type Db, readTenant, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import type { RuleDocument, TriggerRule } from '@dueline/trigger-rules';
import type { Ahead } from './cycles/ahead.ts';
import { type Deviation, deviationsOf } from './deviations.ts';
import { readRange } from './range.ts';
import { type Account, loadAccount, loadVersions, readDocument } from './rule-then.ts';
import { playSides } from './sides.ts';
import type { RunOfRule, Sample } from './tally.ts';

/**
 * A rule to try, on what was decided from one instant to another; one that is set off by time, on the cycles that its calendar has from one
 * instant to another, which may be ahead. Instants are RFC 3339.
 */
export interface DryRunRequest {
  /** The rule as it would be. */
  readonly draft: RuleDocument;
  readonly from: string;
  /** Left out: now. Events end now. */
  readonly to?: string | undefined;
  /** Of a draft that is set off by time, instead of `to`: so many cycles from `from` on. */
  readonly cycles?: number | undefined;
  /** The rule that it would take the place of, by its id; left out: none, it is a new one. */
  readonly against?: string | undefined;
}

/** What a rule would have done, had it been live. */
export interface DryRun {
  readonly from: string;
  readonly to: string;
  /** From when on it was played: later than `from` when history does not reach back so far. */
  readonly playedFrom: string;
  readonly draft: RunOfRule;
  /** Messages that are still to come; null: all of the range is over. */
  readonly ahead: Ahead | null;
  /** Against the rule as it is now, played over the same past; null: there is none to compare with. */
  readonly compared: Compared | null;
  /** What can make it differ from what would really have happened; of a closed list. */
  readonly deviations: readonly Deviation[];
}

export interface Compared {
  readonly ruleId: string;
  readonly version: number;
  readonly live: RunOfRule;
  /** People whom the draft reaches, and the rule does not. */
  readonly gains: { readonly people: number; readonly sample: readonly Sample[] };
  /** People whom the rule reaches, and the draft does not. */
  readonly loses: { readonly people: number; readonly sample: readonly Sample[] };
}

const MAX_SAMPLES = 10;

/**
 * Plays the decided events of an account once more, to see what a draft would have done with them, or the cycles of a draft that is set off by
 * time: by the evaluator of the decisions themselves, on people as they were, with the limits of the rule spent in the order of time. Changes
 * nothing: its transaction may only read, and sees one account. What it cannot know is in `deviations`.
 *
 * @throws PermanentError when the draft cannot be read, the range is none or too large, or the rule to compare with is not there.
 */
export function dryRun(db: Db, tenant: Tenant, request: DryRunRequest): Promise<DryRun> {
  return readTenant(db, tenant, async (tx) => {
    const account = await loadAccount(tx, tenant);
    const live = request.against === undefined ? undefined : await liveRule(tx, account, request.against);
    const read = readDocument(account, request.draft, request.against);
    if (read.kind === 'invalid') throw new PermanentError(`the draft is invalid at /${read.problem}`);
    const sides = { draft: read.rule, live };
    const range = await readRange(tx, account, { wanted: request, sides });
    const [gains, loses] = [counter(), counter()];
    const onPerson = ({ draft, live }: Parameters<Parameters<typeof playSides>[2]['onPerson']>[0]) => {
      if (draft !== undefined && live === undefined) gains.count(draft);
      if (draft === undefined && live !== undefined) loses.count(live);
    };
    const { draft, live: ofLive, uncertain, ahead } = await playSides(tx, account, { ...sides, range, onPerson });
    const compared = live &&
      ofLive && { ruleId: live.id, version: live.version, live: ofLive, gains: gains.result(), loses: loses.result() };
    const known = { isCut: range.playedFrom !== range.from, uncertain, isAhead: ahead !== null };
    return {
      ...range,
      ...{ draft, ahead, compared: compared ?? null },
      deviations: deviationsOf(account, { rule: read.rule, ...known }),
    };
  });
}

async function liveRule(tx: Tx, account: Account, ruleId: string): Promise<TriggerRule> {
  const current = (await loadVersions(tx, account, ruleId)).at(-1);
  if (current === undefined) throw new PermanentError(`the account has no rule ${ruleId}`);
  if (current.read.kind === 'invalid') throw new PermanentError(`rule ${ruleId} is invalid at ${current.read.problem}`);
  return { ...current.read.rule, mode: 'live' };
}

function counter() {
  let people = 0;
  const sample: Sample[] = [];
  return {
    count: (of: Sample) => {
      people += 1;
      if (sample.length < MAX_SAMPLES) sample.push(of);
    },
    result: () => ({ people, sample }),
  };
}
