import type { LeafResult } from '@dueline/conditions';
import type { Tenant } from '@dueline/contracts';
import { type Db, readTenant, type Tx } from '@dueline/db';
import type { ArchivedEvent } from '@dueline/db/changes';
import { PermanentError } from '@dueline/kernel';
import type { CycleThen } from './cycles/find-cycle.ts';
import { tellCycle } from './cycles/tell-cycle.ts';
import { isTimed } from './cycles/timed-rule.ts';
import { aftermathOf, type DecidedRow, type DeliveryFate, deliveryOf } from './decided.ts';
import { findEvent, readTime } from './find-event.ts';
import type { Verdict } from './judge.ts';
import type { ExplainReason } from './reasons.ts';
import { type Account, loadAccount, loadVersions, type RuleVersion, versionAt } from './rule-then.ts';
import { sentenceOf } from './sentence.ts';
import type { Step } from './step.ts';
import { tellEvent, tellNothing } from './tell-event.ts';
import type { Told } from './told.ts';

/** One rule and one person, and an event or a time (RFC 3339; left out: now). */
export interface ExplainRequest {
  readonly ruleId: string;
  readonly userId: string;
  readonly eventId?: string | undefined;
  readonly at?: string | undefined;
  /** How far from `at` it is looked; a day when left out. */
  readonly withinSeconds?: number | undefined;
}

/** Why a rule did what it did for a person, or why nothing happened. Instants are RFC 3339. */
export interface Explanation {
  readonly rule: {
    readonly id: string;
    readonly name: string;
    readonly version: number | null;
    readonly state: RuleVersion['state'] | null;
    readonly versionNow: number;
  };
  readonly userId: string;
  readonly event: {
    readonly eventId: string;
    readonly topic: string;
    readonly occurredAt: string;
    readonly decidedAt: string;
  } | null;
  /** Of a rule that is set off by time: the cycle that is nearest; null: there is none, or events set the rule off. */
  readonly cycle: CycleThen | null;
  /** Whether it fired: at once, or to wait; of a cycle that is ahead whether it will, as things stand. */
  readonly fired: boolean;
  readonly reason: ExplainReason;
  readonly says: string;
  /** `history`: it was written down when it was decided. `computed`: worked out from the past, for want of that. */
  readonly basis: 'history' | 'computed';
  /** What evaluator and limits make of it, on the past as it is known now; null: there is nothing to judge. */
  readonly computed: Verdict | null;
  readonly steps: readonly Step[];
  readonly leaves: readonly LeafResult[];
  /** What became of what waited. */
  readonly aftermath: readonly DecidedRow[];
  readonly delivery: DeliveryFate | null;
  /** The account as it is now, where it keeps messages back. */
  readonly account: { readonly status: string; readonly isStopped: boolean };
}

/**
 * Explains one rule for one person: what was decided and why, each condition with its value, every limit with what it found; or why nothing
 * was. A rule that is set off by time is explained by its cycle that is nearest to the time, the next one too. What history says counts; the rest is worked out by the evaluator of the decisions, on the past. Changes nothing.
 *
 * @throws PermanentError when the account has no such rule or event, or the event is about somebody else.
 */
export function explain(db: Db, tenant: Tenant, request: ExplainRequest): Promise<Explanation> {
  return readTenant(db, tenant, async (tx) => {
    const account = await loadAccount(tx, tenant);
    const versions = await loadVersions(tx, account, request.ruleId);
    const now = versions.at(-1);
    if (now === undefined) throw new PermanentError(`the account has no rule ${request.ruleId}`);
    const told = await tell(tx, account, { request, versions });
    const { row, version, fired, reason, basis, computed, steps, leaves, archived, cycle } = told;
    const aftermath = told.aftermath ?? (row === undefined ? [] : await aftermathOf(tx, account, { ...request, row }));
    const deliveryId = aftermath.findLast((after) => after.deliveryId !== null)?.deliveryId ?? row?.deliveryId ?? null;
    const delivery = deliveryId === null ? undefined : await deliveryOf(tx, account, deliveryId);
    return {
      rule: {
        id: request.ruleId,
        name: now.name,
        version: version?.version ?? null,
        state: version?.state ?? null,
        versionNow: now.version,
      },
      userId: request.userId,
      event: archived === undefined ? null : eventOf(archived),
      cycle: cycle ?? null,
      ...{ fired, reason, basis, says: sentenceOf(told, delivery), computed: computed ?? null },
      ...{ steps, leaves, aftermath, delivery: delivery ?? null },
      account: { status: account.status, isStopped: account.isStopped },
    };
  });
}

interface Asked {
  readonly request: ExplainRequest;
  readonly versions: readonly RuleVersion[];
}

async function tell(tx: Tx, account: Account, { request, versions }: Asked): Promise<Told> {
  if (request.eventId === undefined) {
    const time = await readTime(tx, request.at);
    const version = versionAt(versions, time.micros) ?? versions.at(-1);
    if (version?.read.kind === 'rule' && isTimed(version.read.rule))
      return tellCycle(tx, account, { request, versions, time });
  }
  const found = await findEvent(tx, account, { request, versions });
  return 'archived' in found ? tellEvent(tx, account, { request, versions, found }) : tellNothing(found);
}

const eventOf = ({ event, decidedAt }: ArchivedEvent) => ({
  ...{ eventId: event.eventId, topic: event.topic, occurredAt: event.occurredAt, decidedAt },
});
