import type { LeafResult } from '@dueline/conditions';
import type { Tenant } from '@dueline/contracts';
import { type Db, readTenant, sql, type Tx } from '@dueline/db';
import type { ArchivedEvent } from '@dueline/db/changes';
import { PermanentError } from '@dueline/kernel';
import { aftermathOf, type DecidedRow, type DeliveryFate, decidedOf, deliveryOf } from './decided.ts';
import { type Found, findEvent } from './find-event.ts';
import { judge, type Verdict } from './judge.ts';
import { loadMeetings } from './meetings.ts';
import { loadMoments } from './moments.ts';
import { type ExplainReason, sayReason } from './reasons.ts';
import { type Account, loadAccount, loadVersions, type RuleVersion, versionAt } from './rule-then.ts';
import { computeVerdict, type Known, leavesOf, type Step, stepsOf } from './steps.ts';
import { loadTarget } from './targets-then.ts';
import { loadTracks } from './track.ts';

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
  /** Whether it fired: at once, or to wait. */
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

/** Fired, or waits. */
const FIRED: ReadonlySet<string> = new Set(['fired', 'scheduled']);

/**
 * Explains one rule for one person: what was decided and why, each condition with its value, every limit with what it found; or why nothing
 * was. What history says counts; the rest is worked out by the evaluator of the decisions, on the past. Changes nothing.
 *
 * @throws PermanentError when the account has no such rule or event, or the event is about somebody else.
 */
export function explain(db: Db, tenant: Tenant, request: ExplainRequest): Promise<Explanation> {
  return readTenant(db, tenant, async (tx) => {
    const account = await loadAccount(tx, tenant);
    const versions = await loadVersions(tx, account, request.ruleId);
    const now = versions.at(-1);
    if (now === undefined) throw new PermanentError(`the account has no rule ${request.ruleId}`);
    const found = await findEvent(tx, account, { request, versions });
    const told =
      'archived' in found ? await explainEvent(tx, account, { request, versions, found }) : explainNothing(found);
    const { row } = told;
    const aftermath = row === undefined ? [] : await aftermathOf(tx, account, { ...request, row });
    const deliveryId = aftermath.findLast((after) => after.deliveryId !== null)?.deliveryId ?? row?.deliveryId ?? null;
    const delivery = deliveryId === null ? undefined : await deliveryOf(tx, account, deliveryId);
    const { version, fired, reason, basis, known } = told;
    return {
      rule: {
        id: request.ruleId,
        name: now.name,
        version: version?.version ?? null,
        state: version?.state ?? null,
        versionNow: now.version,
      },
      userId: request.userId,
      event: 'archived' in found ? eventOf(found.archived) : null,
      ...{ fired, reason, basis, says: sentence(told, delivery) },
      computed: (known && computeVerdict(known)) ?? null,
      steps: known === undefined ? [] : stepsOf(known),
      leaves: known === undefined ? [] : leavesOf(known),
      ...{ aftermath, delivery: delivery ?? null },
      account: { status: account.status, isStopped: account.isStopped },
    };
  });
}

const eventOf = ({ event, decidedAt }: ArchivedEvent) => ({
  ...{ eventId: event.eventId, topic: event.topic, occurredAt: event.occurredAt, decidedAt },
});

interface Told {
  readonly fired: boolean;
  readonly reason: ExplainReason;
  readonly basis: Explanation['basis'];
  readonly version: RuleVersion | undefined;
  readonly row?: DecidedRow | undefined;
  readonly known?: Known | undefined;
}

/** A decision without an event, or none at all. */
function explainNothing(found: Exclude<Found, { archived: ArchivedEvent }>): Told {
  const { version } = found;
  if (!('row' in found)) return { fired: false, reason: found.reason, basis: 'computed', version };
  const { row } = found;
  return { fired: FIRED.has(row.decision), reason: row.reasonCode as ExplainReason, basis: 'history', version, row };
}

interface OfEvent {
  readonly request: ExplainRequest;
  readonly versions: readonly RuleVersion[];
  readonly found: Extract<Found, { archived: ArchivedEvent }>;
}

async function explainEvent(tx: Tx, account: Account, { request, versions, found }: OfEvent): Promise<Told> {
  const { archived } = found;
  const row = await decidedOf(tx, account, {
    ...request,
    eventId: archived.event.eventId,
    decidedAt: archived.decidedAt,
  });
  const held = versionAt(versions, archived.decidedMicros);
  const version = row === undefined ? held : (versions.find((one) => one.version === row.ruleVersion) ?? held);
  const judgedBy = version ?? versions.at(-1);
  const known = judgedBy && (await loadKnown(tx, account, { version: judgedBy, archived }));
  if (row !== undefined)
    return {
      fired: FIRED.has(row.decision),
      reason: row.reasonCode as ExplainReason,
      basis: 'history',
      version,
      row,
      known,
    };
  const computed = { basis: 'computed', version, known } as const;
  const state = stateReason(version);
  if (state !== undefined) return { ...computed, fired: false, reason: state };
  const verdict = known && computeVerdict(known);
  if (verdict !== undefined) return { ...computed, fired: FIRED.has(verdict.decision), reason: verdict.reasonCode };
  if (version?.read.kind === 'invalid') return { ...computed, fired: false, reason: 'rule_invalid' };
  return { ...computed, fired: false, reason: found.isHeardNow ? 'another_version' : 'source_not_matched' };
}

function stateReason(version: RuleVersion | undefined): ExplainReason | undefined {
  switch (version?.state) {
    case undefined:
      return 'rule_not_yet_made';
    case 'draft':
      return 'rule_was_draft';
    case 'disabled':
      return 'rule_was_disabled';
    case 'deleted':
      return 'rule_was_deleted';
    case 'live':
    case 'observe':
      return undefined;
  }
}

/** Undefined: the version cannot be read. */
async function loadKnown(
  tx: Tx,
  account: Account,
  { version, archived }: { version: RuleVersion; archived: ArchivedEvent },
): Promise<Known | undefined> {
  if (version.read.kind === 'invalid') return undefined;
  const { rule } = version.read;
  const meeting = (await loadMeetings(tx, account, { events: [archived], rules: [rule] }))(archived, rule);
  const judged = judge(version.read, archived, { met: meeting, target: await loadTarget(tx, account, rule) });
  const at = archived.decidedMicros;
  const zone = meeting.known?.user.timezone ?? null;
  const [moment] = await loadMoments(tx, account, { rule, met: [{ at, zone }] });
  if (moment === undefined) return undefined;
  const { userId, rootId } = archived.event;
  const trackOf = await loadTracks(tx, account, { rule, userIds: [userId], before: at, until: at });
  const { rows } = await tx.execute<{ decisions: number }>(
    sql`select decisions from root_budget where root_id = ${rootId}`,
  );
  return {
    ...{ account, rule, archived, meeting, judged, moment },
    track: trackOf(userId),
    rootDecisions: rows[0]?.decisions ?? 0,
  };
}

const VERB: Readonly<Record<string, string>> = {
  fired: 'it fired',
  scheduled: 'it fired, to act later',
  observed: 'it would have fired, and observes only',
  failed: 'it failed',
};

function sentence({ fired, reason, row, known, basis }: Told, delivery: DeliveryFate | undefined): string {
  const computed = known && computeVerdict(known);
  const verb = VERB[row?.decision ?? (fired ? (computed?.decision ?? '') : '')] ?? 'it did not fire';
  const why = row?.errorMessage ?? sayReason(reason);
  const would =
    row === undefined && !fired && computed !== undefined && FIRED.has(computed.decision)
      ? '; it would have fired otherwise'
      : '';
  const from =
    basis === 'computed' && computed?.reasonCode === reason
      ? ' (worked out from the past: history has no line of it)'
      : '';
  const sent =
    delivery === undefined
      ? ''
      : `; its message: ${delivery.status}${delivery.reasonCode === null ? '' : `, ${delivery.reasonCode}`}`;
  return `${verb}: ${why}${would}${from}${sent}`;
}
