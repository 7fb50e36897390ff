import { sql, type Tx } from '@dueline/db';
import type { ArchivedEvent } from '@dueline/db/changes';
import { decidedOf } from './decided.ts';
import type { ExplainRequest } from './explain.ts';
import type { Found } from './find-event.ts';
import { judge } from './judge.ts';
import { loadMeetings } from './meetings.ts';
import { loadMoments } from './moments.ts';
import type { ExplainReason } from './reasons.ts';
import { type Account, type RuleVersion, stateReason, versionAt } from './rule-then.ts';
import { computeVerdict, type Known, leavesOf, stepsOf } from './steps.ts';
import { loadTarget } from './targets-then.ts';
import { FIRED, type Told } from './told.ts';
import { loadTracks } from './track.ts';

/** A decision without an event, or none at all. */
export function tellNothing(found: Exclude<Found, { archived: ArchivedEvent }>): Told {
  const { version } = found;
  const unknown = { version, steps: [], leaves: [] };
  if (!('row' in found)) return { ...unknown, fired: false, reason: found.reason, basis: 'computed' };
  const { row } = found;
  return { ...unknown, fired: FIRED.has(row.decision), reason: row.reasonCode as ExplainReason, basis: 'history', row };
}

interface OfEvent {
  readonly request: ExplainRequest;
  readonly versions: readonly RuleVersion[];
  readonly found: Extract<Found, { archived: ArchivedEvent }>;
}

/** What became of an event under a rule. */
export async function tellEvent(tx: Tx, account: Account, { request, versions, found }: OfEvent): Promise<Told> {
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
  const verdict = known && computeVerdict(known);
  const worked = {
    version,
    archived,
    computed: verdict,
    steps: known ? stepsOf(known) : [],
    leaves: known ? leavesOf(known) : [],
  };
  if (row !== undefined) {
    const reason = row.reasonCode as ExplainReason;
    return { ...worked, fired: FIRED.has(row.decision), reason, basis: 'history', row };
  }
  const computed = { ...worked, basis: 'computed' } as const;
  const state = stateReason(version);
  if (state !== undefined) return { ...computed, fired: false, reason: state };
  if (verdict !== undefined) return { ...computed, fired: FIRED.has(verdict.decision), reason: verdict.reasonCode };
  if (version?.read.kind === 'invalid') return { ...computed, fired: false, reason: 'rule_invalid' };
  return { ...computed, fired: false, reason: found.isHeardNow ? 'another_version' : 'source_not_matched' };
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
