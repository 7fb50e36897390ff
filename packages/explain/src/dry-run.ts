import type { Tenant } from '@dueline/contracts';
import { type Db, readTenant, sql, type Tx } from '@dueline/db';
import { streamArchive } from '@dueline/db/changes';
import { PermanentError } from '@dueline/kernel';
import type { RuleDocument, TriggerRule } from '@dueline/trigger-rules';
import { type Deviation, deviationsOf } from './deviations.ts';
import { historyBegins } from './reach.ts';
import { type Account, loadAccount, loadVersions, readDocument } from './rule-then.ts';
import { createRun, type Run } from './run.ts';
import type { RunOfRule, Sample } from './tally.ts';

/** A rule to try, on events that were decided from one instant to another. Instants are RFC 3339. */
export interface DryRunRequest {
  /** The rule as it would be. */
  readonly draft: RuleDocument;
  readonly from: string;
  /** Not after it; left out: now. */
  readonly to?: string | undefined;
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

/** Events of one batch: what memory holds is proportional to it, and to the days of the range. Ours. */
const BATCH = 2_000;
const MAX_SAMPLES = 10;

/**
 * Plays the decided events of an account once more, to see what a draft would have done with them: by the evaluator of the decisions themselves, on
 * people as they were, with the limits of the rule spent in the order of time. Changes nothing: its transaction may only read, and sees one
 * account. What it cannot know is in `deviations`.
 *
 * @throws PermanentError when the draft is none that events set off, the range is none, or the rule to compare with is not there.
 */
export function dryRun(db: Db, tenant: Tenant, request: DryRunRequest): Promise<DryRun> {
  return readTenant(db, tenant, async (tx) => {
    const account = await loadAccount(tx, tenant);
    const range = await readRange(tx, request);
    const live = request.against === undefined ? undefined : await liveRule(tx, account, request.against);
    const draft = readDocument(account, request.draft, request.against);
    if (draft.kind === 'invalid') throw new PermanentError(`the draft is invalid at /${draft.problem}`);
    const runs = { draft: createRun(account, draft.rule), live: live && createRun(account, live) };
    const { gains, loses } = await playAll(tx, account, { range, runs });
    const compared = live &&
      runs.live && { ruleId: live.id, version: live.version, live: runs.live.result(), gains, loses };
    return {
      ...range,
      draft: runs.draft.result(),
      compared: compared ?? null,
      deviations: deviationsOf(account, {
        ...{ rule: draft.rule, isCut: range.playedFrom !== range.from, uncertain: runs.draft.uncertain() },
      }),
    };
  });
}

async function liveRule(tx: Tx, account: Account, ruleId: string): Promise<TriggerRule> {
  const current = (await loadVersions(tx, account, ruleId)).at(-1);
  if (current === undefined) throw new PermanentError(`the account has no rule ${ruleId}`);
  if (current.read.kind === 'invalid') throw new PermanentError(`rule ${ruleId} is invalid at ${current.read.problem}`);
  return { ...current.read.rule, mode: 'live' };
}

async function readRange(tx: Tx, { from, to }: DryRunRequest): Promise<Pick<DryRun, 'from' | 'to' | 'playedFrom'>> {
  const begins = await historyBegins(tx);
  const format = (instant: ReturnType<typeof sql>) =>
    sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  const { rows } = await tx.execute<{ from: string; to: string; played: string; is_range: boolean }>(sql`
    select ${format(sql`asked.begin`)} as from, ${format(sql`asked.until`)} as to,
           ${format(sql`greatest(asked.begin, ${begins}::timestamptz)`)} as played,
           asked.until > greatest(asked.begin, ${begins}::timestamptz) as is_range
      from (select ${from}::timestamptz as begin, least(coalesce(${to ?? null}::timestamptz, app_now()), app_now()) as until) as asked`);
  const [row] = rows;
  if (row?.is_range !== true)
    throw new PermanentError(`there is no history between ${row?.from} and ${row?.to}: it begins at ${begins}`);
  return { from: row.from, to: row.to, playedFrom: row.played };
}

interface Playing {
  readonly range: Pick<DryRun, 'to' | 'playedFrom'>;
  readonly runs: { readonly draft: Run; readonly live: Run | undefined };
}

async function playAll(tx: Tx, account: Account, { range, runs }: Playing): Promise<Pick<Compared, 'gains' | 'loses'>> {
  const gains = counter();
  const loses = counter();
  const endPerson = () => {
    const [draft, live] = [runs.draft.endPerson(), runs.live?.endPerson()];
    if (draft !== undefined && live === undefined) gains.count(draft);
    if (draft === undefined && live !== undefined) loses.count(live);
  };
  const playing = runs.live === undefined ? [runs.draft] : [runs.draft, runs.live];
  const kinds = playing.map(({ listensTo }) => listensTo);
  let person: string | undefined;
  const stream = streamArchive(tx, account, { kinds, from: range.playedFrom, to: range.to, size: BATCH });
  for await (const batch of stream) {
    for (const run of playing) await run.load(tx, batch, range);
    for (const archived of batch) {
      if (person !== undefined && person !== archived.event.userId) endPerson();
      person = archived.event.userId;
      for (const run of playing) run.meet(archived);
    }
  }
  endPerson();
  return { gains: gains.result(), loses: loses.result() };
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
