import type { Tx } from '@dueline/db';
import { aftermathOf, type DecidedRow } from '../decided.ts';
import type { ExplainRequest } from '../explain.ts';
import { type AskedTime, DAY_SECONDS } from '../find-event.ts';
import type { ExplainReason } from '../reasons.ts';
import { type Account, type RuleVersion, stateReason, versionAt } from '../rule-then.ts';
import { FIRED, type Told } from '../told.ts';
import { leavesOfCycle, stepsOfCycle } from './cycle-steps.ts';
import { type CycleThen, decidedOfCycle, type FoundCycle, findCycle } from './find-cycle.ts';
import { calendarOf } from './instants.ts';
import { type DecidedAction, type KnownCycle, loadKnownCycle } from './known-cycle.ts';
import { isTimed } from './timed-rule.ts';

interface Asked {
  readonly request: ExplainRequest;
  readonly versions: readonly RuleVersion[];
  readonly time: AskedTime;
}

/** What became of a person in the cycle of a rule that is nearest to an instant, or what will of them in the next. */
export async function tellCycle(tx: Tx, account: Account, asked: Asked): Promise<Told> {
  const { request, versions, time } = asked;
  const { ruleId, userId, withinSeconds = DAY_SECONDS } = request;
  const cycle = await findCycle(tx, account, { ruleId, userId, at: time.at, withinSeconds });
  if (cycle === undefined) return tellAhead(tx, account, asked);
  const row = await decidedOfCycle(tx, account, { cycle, ruleId, userId });
  const version =
    versions.find((one) => one.version === (row?.ruleVersion ?? cycle.ruleVersion)) ?? versionAt(versions, cycle.at);
  const aftermath = row === undefined ? [] : await aftermathOf(tx, account, { ruleId, userId, row });
  const last = aftermath.findLast(({ decision }) => !OPEN.has(decision));
  const known = await knownOf(tx, account, { version, userId, at: cycle.at, decided: decidedAction(last) });
  const worked = workedOf({ cycle, version, known });
  if (row === undefined)
    return { ...worked, fired: false, reason: reasonOfNone(cycle, { time, known }), basis: 'computed' };
  const { decision, reasonCode } = last ?? row;
  return {
    ...worked,
    ...{ fired: FIRED.has(decision), reason: reasonCode as ExplainReason, basis: 'history' },
    ...{ row, last, aftermath },
  };
}

const decidedAction = (last: DecidedRow | undefined): DecidedAction | undefined =>
  last?.scheduledActionId
    ? { actionId: last.scheduledActionId, at: Number(Temporal.Instant.from(last.at).epochNanoseconds / 1_000n) }
    : undefined;

/** After these it still waits. */
const OPEN: ReadonlySet<string> = new Set(['deferred', 'retried', 'unlocked', 'scheduled']);

/** A cycle that is there and left no line about the person. */
function reasonOfNone(
  cycle: FoundCycle,
  { time, known }: { time: AskedTime; known: KnownCycle | undefined },
): ExplainReason {
  if (time.begins !== null && cycle.at / 1_000 < time.begins) return 'before_history';
  if (cycle.status === 'skipped') return 'cycle_skipped';
  if (cycle.status === 'cancelled' && !cycle.hasRead) return 'cycle_cancelled';
  if (cycle.status === 'failed' && !cycle.hasRead) return 'cycle_failed';
  if (!cycle.hasRead) return 'cycle_reads';
  return known?.entry.kind === 'not_met' && known.entry.because === 'user_unknown' ? 'user_unknown' : 'not_in_cycle';
}

/** There was no cycle: there may be one yet. */
async function tellAhead(tx: Tx, account: Account, { request, versions, time }: Asked): Promise<Told> {
  const { userId, withinSeconds = DAY_SECONDS } = request;
  const version = versionAt(versions, time.micros);
  const now = versions.at(-1);
  const state = stateReason(version);
  const nothing = { version, fired: false, basis: 'computed', steps: [], leaves: [] } as const;
  if (time.begins !== null && time.micros / 1_000 + withinSeconds * 1_000 < time.begins)
    return { ...nothing, reason: 'before_history' };
  if (state !== undefined) return { ...nothing, reason: state };
  const next = now?.read.kind === 'rule' && isTimed(now.read.rule) ? nextOf(account, now.read.rule, time) : undefined;
  if (next === undefined || next > time.micros + withinSeconds * 1_000_000) return { ...nothing, reason: 'no_cycle' };
  const cycle: CycleThen = {
    ...{
      id: null,
      scheduledAt: new Date(next / 1_000).toISOString(),
      status: 'ahead',
      reasonCode: null,
      message: null,
    },
  };
  const known = await knownOf(tx, account, { version: now, userId, at: next });
  const worked = workedOf({ cycle, version: now, known });
  const verdict = known?.verdict;
  const reason = verdict?.reasonCode ?? (known?.person === undefined ? 'user_unknown' : 'not_in_cycle');
  return { ...worked, fired: verdict !== undefined && FIRED.has(verdict.decision), reason, basis: 'computed' };
}

/** The first cycle that is not over, at the instant or after it, in microseconds. */
function nextOf(
  account: Account,
  rule: Parameters<typeof calendarOf>[0],
  { micros, nowMicros }: AskedTime,
): number | undefined {
  const after = Math.max(micros - 1_000, nowMicros) / 1_000;
  const next = calendarOf(rule, account).next(new Date(Math.floor(after)));
  return next && next.getTime() * 1_000;
}

async function knownOf(
  tx: Tx,
  account: Account,
  {
    version,
    ...of
  }: { version: RuleVersion | undefined; userId: string; at: number; decided?: DecidedAction | undefined },
): Promise<KnownCycle | undefined> {
  if (version?.read.kind !== 'rule' || !isTimed(version.read.rule)) return undefined;
  return loadKnownCycle(tx, account, { rule: version.read.rule, ...of });
}

const workedOf = ({
  cycle,
  version,
  known,
}: {
  cycle: CycleThen;
  version: RuleVersion | undefined;
  known: KnownCycle | undefined;
}) => ({
  cycle: cycleOf(cycle),
  version,
  computed: known?.verdict,
  steps: known === undefined ? [] : stepsOfCycle(cycle, known),
  leaves: known === undefined ? [] : leavesOfCycle(known),
});

const cycleOf = ({ id, scheduledAt, status, reasonCode, message }: CycleThen): CycleThen => ({
  ...{ id, scheduledAt, status, reasonCode, message },
});
