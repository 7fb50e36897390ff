import { sql, type Tx } from '@dueline/db';
import { type ArchivedEvent, archivedNear, findArchived } from '@dueline/db/changes';
import { PermanentError } from '@dueline/kernel';
import { listensTo } from '@dueline/trigger-rules';
import { type DecidedRow, decidedNear } from './decided.ts';
import type { ExplainRequest } from './explain.ts';
import { historyBegins } from './reach.ts';
import type { ExplainReason } from './reasons.ts';
import { type Account, type RuleVersion, versionAt } from './rule-then.ts';

/** What a question is about: an event, a decision without one, or nothing, and why. */
export type Found =
  | { readonly archived: ArchivedEvent; readonly isHeardNow: boolean }
  | { readonly row: DecidedRow; readonly version: RuleVersion | undefined }
  | { readonly reason: ExplainReason; readonly version: RuleVersion | undefined };

/** Instants are RFC 3339 or, as numbers, in microseconds of the epoch; `begins` in milliseconds. */
export interface AskedTime {
  readonly at: string;
  readonly micros: number;
  readonly nowMicros: number;
  readonly begins: number | null;
}

interface Asked {
  readonly request: ExplainRequest;
  readonly versions: readonly RuleVersion[];
}

/** How far from an instant it is looked, if nothing else is said. */
export const DAY_SECONDS = 86_400;
/** Events of one person that are looked at. */
const MOST_EVENTS = 500;

const hears = (version: RuleVersion | undefined, { event }: ArchivedEvent): boolean =>
  version?.read.kind === 'rule' && listensTo(version.read.rule, event);

/** @throws PermanentError when there is no such event, or it is about somebody else. */
export function findEvent(tx: Tx, account: Account, asked: Asked): Promise<Found> {
  return asked.request.eventId === undefined
    ? findByTime(tx, account, asked)
    : findById(tx, account, { ...asked, eventId: asked.request.eventId });
}

async function findById(
  tx: Tx,
  account: Account,
  { request, versions, eventId }: Asked & { eventId: string },
): Promise<Found> {
  const archived = await findArchived(tx, account, eventId);
  const now = versions.at(-1);
  if (archived !== undefined) {
    if (archived.event.userId !== request.userId)
      throw new PermanentError(`event ${eventId} is about somebody else: ${archived.event.userId}`);
    return { archived, isHeardNow: hears(now, archived) };
  }
  const { rows } = await tx.execute<{ status: string; user_id: string }>(sql`
    select status, user_id from event_outbox
     where event_id = ${eventId} and line_oa_id = ${account.lineOaId} and organization_id = ${account.organizationId}`);
  const [open] = rows;
  if (open === undefined) throw new PermanentError(`the account has no event ${eventId}, or history has it no more`);
  return { reason: open.status === 'dead' ? 'event_dead' : 'event_waits', version: now };
}

async function findByTime(tx: Tx, account: Account, { request, versions }: Asked): Promise<Found> {
  const { ruleId, userId, withinSeconds = DAY_SECONDS } = request;
  const { at, micros, begins } = await readTime(tx, request.at);
  const near = { userId, at, withinSeconds, limit: MOST_EVENTS };
  const events = await archivedNear(tx, account, near);
  const heard = events.find((one) => hears(versionAt(versions, one.decidedMicros) ?? versions.at(-1), one));
  const now = versions.at(-1);
  if (heard !== undefined) return { archived: heard, isHeardNow: hears(now, heard) };
  const version = versionAt(versions, micros);
  const row = await decidedNear(tx, account, { ruleId, ...near });
  if (row !== undefined) return { row, version: versions.find((one) => one.version === row.ruleVersion) ?? version };
  const missed = events.find((one) => hears(now, one));
  if (missed !== undefined) return { archived: missed, isHeardNow: true };
  const reason = await reasonOfNothing(tx, account, {
    near,
    isBefore: begins !== null && micros / 1_000 + withinSeconds * 1_000 < begins,
  });
  return { reason: reason ?? (events.length > 0 ? 'other_events' : 'no_event'), version };
}

interface Nothing {
  readonly near: { readonly userId: string; readonly at: string; readonly withinSeconds: number };
  readonly isBefore: boolean;
}

async function reasonOfNothing(
  tx: Tx,
  account: Account,
  { near, isBefore }: Nothing,
): Promise<ExplainReason | undefined> {
  if (isBefore) return 'before_history';
  const { lineOaId, organizationId } = account;
  const within = sql`make_interval(secs => ${near.withinSeconds})`;
  const window = sql`between ${near.at}::timestamptz - ${within} and ${near.at}::timestamptz + ${within}`;
  const { rows } = await tx.execute<{ dead: boolean | null; known: boolean }>(sql`
    select (select bool_and(status = 'dead') from event_outbox as event
             where event.line_oa_id = ${lineOaId} and event.organization_id = ${organizationId} and event.user_id = ${near.userId}
               and event.occurred_at ${window}) as dead,
           exists (select from line_user where line_oa_id = ${lineOaId} and organization_id = ${organizationId} and user_id = ${near.userId}) as known`);
  const [of] = rows;
  if (of?.known === false) return 'user_unknown';
  if (of?.dead === null || of?.dead === undefined) return undefined;
  return of.dead ? 'event_dead' : 'event_waits';
}

/** The instant that a question is about; now, if it names none, and from when on the history is whole. */
export async function readTime(tx: Tx, at: string | undefined): Promise<AskedTime> {
  const begins = await historyBegins(tx);
  const { rows } = await tx.execute<{ at: string; micros: string; now: string }>(sql`
    select to_char(asked.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, (extract(epoch from asked.at) * 1000000)::bigint as micros,
           (extract(epoch from app_now()) * 1000000)::bigint as now
      from (select coalesce(${at ?? null}::timestamptz, app_now()) as at) as asked`);
  const [row] = rows;
  if (row === undefined) throw new Error('a query without a table returned no row');
  return {
    at: row.at,
    micros: Number(row.micros),
    nowMicros: Number(row.now),
    begins: begins === null ? null : Temporal.Instant.from(begins).epochMilliseconds,
  };
}
