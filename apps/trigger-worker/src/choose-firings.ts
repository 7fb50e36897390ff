import type { Tx } from '@dueline/db';
import { groupBy } from '@dueline/kernel';
import { findOpen, haveDates } from '@dueline/scheduled-actions';
import {
  applyLimits,
  type Candidate,
  inQuietHours,
  type LogEntry,
  MAX_DECISIONS_PER_ROOT,
  spendRootBudget,
} from '@dueline/trigger-rules';
import { historyOf, type Prepared, prepare, type Sorted } from './prepare.ts';

type Ending = Parameters<typeof historyOf>[1];

/**
 * Which candidates fire, and why the others do not. The checks that spend nothing come first, so that what cannot be done
 * costs neither a slot of its rule nor a place under the caps; the order among candidates is kept.
 */
export async function chooseFirings(tx: Tx, candidates: readonly Candidate[]): Promise<Sorted<Prepared>> {
  const caused = await withinBudget(tx, candidates);
  const prepared = await prepare(tx, caused.kept);
  const dated = await withDate(tx, prepared.kept);
  const entering = await notWaiting(tx, dated.kept);
  const allowed = await notQuiet(tx, entering.kept);
  const limited = await withinLimits(tx, allowed.kept);
  const { kept, ended } = observed(limited.kept);
  const endings = [caused, prepared, dated, entering, allowed, limited].flatMap((step) => step.ended);
  return { kept, ended: [...endings, ...ended] };
}

/** Keeps what `endingOf` says nothing of. */
function sort<Kind extends Candidate>(
  candidates: readonly Kind[],
  endingOf: (candidate: Kind, at: number) => Ending | undefined,
): Sorted<Kind> {
  const kept: Kind[] = [];
  const ended: LogEntry[] = [];
  for (const [at, candidate] of candidates.entries()) {
    const ending = endingOf(candidate, at);
    if (ending === undefined) kept.push(candidate);
    else ended.push(historyOf(candidate, ending));
  }
  return { kept, ended };
}

/** What actions caused may lead to so many decisions only, all of one event together; nobody counts what others write. */
async function withinBudget(tx: Tx, candidates: readonly Candidate[]): Promise<Sorted<Candidate>> {
  const caused = candidates.filter(({ event, rule }) => event.depth > 0 && rule.mode === 'live');
  const within = await spendRootBudget(
    tx,
    caused.map(({ event }) => event),
  );
  const over = new Set(caused.filter((_, at) => !within[at]));
  return sort(candidates, (candidate) => {
    if (!over.has(candidate)) return undefined;
    const { depth, rootId } = candidate.event;
    const detail = { depth, rootId, decisions: MAX_DECISIONS_PER_ROOT };
    return { decision: 'suppressed', reasonCode: 'rule_loops', detail };
  });
}

/** What is to wait for a date that its person does not have. */
async function withDate(tx: Tx, prepared: readonly Prepared[]): Promise<Sorted<Prepared>> {
  const waiting = prepared.flatMap((candidate) =>
    candidate.plan.kind === 'later' ? { candidate, delay: candidate.plan.delay } : [],
  );
  const dates = await haveDates(
    tx,
    waiting.map(({ candidate: { rule, userId }, delay }) => {
      const { organizationId, lineOaId } = rule;
      return { organizationId, lineOaId, userId, delay };
    }),
  );
  const undated = new Set(waiting.flatMap(({ candidate }, at) => (dates[at] ? [] : [candidate])));
  return sort(prepared, (candidate) =>
    undated.has(candidate) ? { decision: 'suppressed', reasonCode: 'no_date' } : undefined,
  );
}

async function notWaiting(tx: Tx, prepared: readonly Prepared[]): Promise<Sorted<Prepared>> {
  const once = prepared.filter(({ rule, plan }) => rule.reentry === 'not_while_open' && plan.kind === 'later');
  const open = await findOpen(
    tx,
    once.map(({ rule, userId }) => ({ triggerRuleId: rule.id, userId })),
  );
  const waiting = new Set(once.filter((_, at) => open[at]));
  return sort(prepared, (candidate) =>
    waiting.has(candidate) ? { decision: 'suppressed', reasonCode: 'already_pending' } : undefined,
  );
}

const sends = ({ plan }: Prepared): boolean => plan.kind === 'now' && plan.request.actionType === 'send_message';

/** What is sent at once and falls into quiet hours waits for their end as a delivery, unless the account drops it. */
async function notQuiet(tx: Tx, prepared: readonly Prepared[]): Promise<Sorted<Prepared>> {
  const concerned = prepared.filter((candidate) => candidate.rule.dropsInQuietHours && sends(candidate));
  const quiet = new Set<Prepared>();
  for (const ofAccount of groupBy(concerned, ({ rule }) => rule.lineOaId).values()) {
    const [first] = ofAccount;
    if (first === undefined) continue;
    const userIds = await inQuietHours(
      tx,
      first.rule,
      ofAccount.map(({ userId }) => userId),
    );
    for (const candidate of ofAccount) if (userIds.has(candidate.userId)) quiet.add(candidate);
  }
  return sort(prepared, (candidate) =>
    quiet.has(candidate) ? { decision: 'suppressed', reasonCode: 'quiet_hours' } : undefined,
  );
}

async function withinLimits(tx: Tx, prepared: readonly Prepared[]): Promise<Sorted<Prepared>> {
  const limits = await applyLimits(
    tx,
    prepared.map((candidate) => ({ rule: candidate.rule, userId: candidate.userId, sends: sends(candidate) })),
  );
  return sort(prepared, (_, at) => {
    const limit = limits[at];
    return limit === undefined ? undefined : { decision: 'suppressed', reasonCode: limit };
  });
}

/** What a rule would have done that only observes. */
const observed = (prepared: readonly Prepared[]): Sorted<Prepared> =>
  sort(prepared, ({ rule, plan }) => {
    if (rule.mode === 'live') return undefined;
    return { decision: 'observed', reasonCode: 'matched', detail: { would: plan.kind === 'now' ? 'fire' : 'wait' } };
  });
