import { sql, type Tx } from '@dueline/db';
import type { Account } from './rule-then.ts';

/** One line of history. */
export interface DecidedRow {
  readonly at: string;
  readonly decision: string;
  readonly reasonCode: string;
  readonly detail: unknown;
  readonly errorMessage: string | null;
  readonly ruleVersion: number | null;
  readonly triggerOn: string;
  readonly eventId: string | null;
  readonly scheduledActionId: string | null;
  readonly deliveryId: string | null;
}

const RFC3339 = (instant: ReturnType<typeof sql>) =>
  sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
const ROW = sql`
  ${RFC3339(sql`created_date`)} as at, decision, reason_code as "reasonCode", detail, error_message as "errorMessage",
  rule_version as "ruleVersion", trigger_on as "triggerOn", event_id as "eventId", scheduled_action_id as "scheduledActionId",
  delivery_id as "deliveryId"`;

interface Of {
  readonly ruleId: string;
  readonly userId: string;
}
const ofPerson = ({ lineOaId, organizationId }: Account, { ruleId, userId }: Of) =>
  sql`line_oa_id = ${lineOaId} and organization_id = ${organizationId} and user_id = ${userId} and trigger_rule_id = ${ruleId}`;

/** What was decided of one event; undefined: there is no line of it. */
export async function decidedOf(
  tx: Tx,
  account: Account,
  of: Of & { eventId: string; decidedAt: string },
): Promise<DecidedRow | undefined> {
  const { rows } = await tx.execute<DecidedRow & Record<string, unknown>>(sql`
    select ${ROW} from trigger_log
     where ${ofPerson(account, of)} and event_id = ${of.eventId} and created_date = ${of.decidedAt}::timestamptz
       and trigger_on <> 'scheduled_action' order by id limit 1`);
  return rows[0];
}

/** What was decided nearest to an instant, whatever led to it: cycles and enrolments have no event. */
export async function decidedNear(
  tx: Tx,
  account: Account,
  of: Of & { at: string; withinSeconds: number },
): Promise<DecidedRow | undefined> {
  const within = sql`make_interval(secs => ${of.withinSeconds})`;
  const { rows } = await tx.execute<DecidedRow & Record<string, unknown>>(sql`
    select ${ROW} from trigger_log
     where ${ofPerson(account, of)} and created_date between ${of.at}::timestamptz - ${within} and ${of.at}::timestamptz + ${within}
       and trigger_on <> 'scheduled_action'
     order by abs(extract(epoch from created_date - ${of.at}::timestamptz)), id limit 1`);
  return rows[0];
}

/** What became of what waited, the first first. */
export async function aftermathOf(tx: Tx, account: Account, of: Of & { row: DecidedRow }): Promise<DecidedRow[]> {
  if (of.row.scheduledActionId === null) return [];
  const { rows } = await tx.execute<DecidedRow & Record<string, unknown>>(sql`
    select ${ROW} from trigger_log
     where ${ofPerson(account, of)} and created_date >= ${of.row.at}::timestamptz and trigger_on = 'scheduled_action'
       and scheduled_action_id = ${of.row.scheduledActionId}
     order by created_date, id limit 20`);
  return rows;
}

/** A message on its way: its status as deliveries name it, and what keeps it when it is not out yet. */
export interface DeliveryFate {
  readonly id: string;
  readonly status: string;
  readonly reasonCode: string | null;
  /** Until when it waits, RFC 3339; null: it is over. */
  readonly waitsUntil: string | null;
}

/** Undefined: there was none. */
export async function deliveryOf(tx: Tx, account: Account, deliveryId: string): Promise<DeliveryFate | undefined> {
  const { rows } = await tx.execute<DeliveryFate & Record<string, unknown>>(sql`
    select id, status, reason_code as "reasonCode", case when status = 'planned' then ${RFC3339(sql`next_attempt_at`)} end as "waitsUntil"
      from delivery where id = ${deliveryId} and line_oa_id = ${account.lineOaId} and organization_id = ${account.organizationId}`);
  return rows[0];
}

interface OfCycle extends Of {
  readonly startedAt: string;
  readonly nextStartedAt: string | null;
  /** Null: the cycle made none for the person. */
  readonly scheduledActionId: string | null;
}

/** What was decided when a cycle was read: the line of the action that it made, or one that tells why it made none. */
export async function decidedInCycle(tx: Tx, account: Account, of: OfCycle): Promise<DecidedRow | undefined> {
  const { rows } = await tx.execute<DecidedRow & Record<string, unknown>>(sql`
    select ${ROW} from trigger_log
     where ${ofPerson(account, of)} and created_date >= ${of.startedAt}::timestamptz and trigger_on = 'scheduled_time'
       and (scheduled_action_id = ${of.scheduledActionId}::bigint
            or scheduled_action_id is null and created_date < coalesce(${of.nextStartedAt}::timestamptz, 'infinity'))
     order by scheduled_action_id nulls last, created_date, id limit 1`);
  return rows[0];
}
