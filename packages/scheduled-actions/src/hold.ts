import type { Delay, TenantTicket } from '@dueline/contracts';
import { cycleIdOfAction, sql, type Tx, tenantTicketRows } from '@dueline/db';
import { ACTION, type ActionRow, parseAction, readDocument, type StoredAction } from './action-row.ts';
import type { Claim } from './claim.ts';
import { cycleInstant } from './cycle-instant.ts';
import { type DueRow, IS_DUE, PLACE, takeDue } from './due-rows.ts';

/** A row, locked by the transaction that decides it. */
export interface HeldAction extends StoredAction {
  readonly fence: string;
  readonly sourceConfig: object | null;
  /** How its time came about; null: somebody named it. */
  readonly delaySpec: Delay | null;
  /** Whether it waits for a fact, until a deadline. */
  readonly isWaiting: boolean;
  /** Which way its wait went; null: not decided yet. */
  readonly branch: string | null;
  readonly retryCount: number;
  /** How many processes died with this row alone in hand. */
  readonly rescueCount: number;
  /** It was in hand when a process may have died, alone or among others: it is decided alone. */
  readonly alone: boolean;
  /** Its max_lateness is passed. */
  readonly overdue: boolean;
  /** LINE's id of its account. */
  readonly channelId: string;
  /** Its account or organization is stopped. */
  readonly stopped: boolean;
  /** A person cancelled the cycle that it is of, and has not brought it back since. */
  readonly calledOff: boolean;
  /** When a message may go that its account's quiet hours forbid now, RFC 3339; null: now. */
  readonly quietUntil: string | null;
  readonly quietPolicy: 'shift' | 'drop' | 'ignore';
  /**
   * Where its account caps what is sent to one person, and its rule is not exempt: for when it is meant, in microseconds of the epoch, and, where it
   * was put off, for when it is since; null: nothing caps it.
   */
  readonly meantFor: readonly number[] | null;
  readonly gen: number;
  readonly traceparent: string | null;
  /** For how long it has been due, in seconds of product time. */
  readonly lateSeconds: number;
}

type HeldRow = ActionRow & {
  fence: string;
  source_config: string | null;
  delay_spec: string | null;
  is_waiting: boolean;
  branch: string | null;
  retry_count: number;
  rescue_count: number;
  alone: boolean;
  overdue: boolean | null;
  channel_id: string;
  stopped: boolean;
  called_off: boolean;
  quiet_until: string | null;
  quiet_policy: HeldAction['quietPolicy'];
  meant_for: number[] | null;
  gen: number;
  traceparent: string | null;
  late: number;
};

const HELD = sql`
  ${ACTION}, action.fence, source_config::text, delay_spec::text, expires_at is not null as is_waiting, branch, retry_count,
  rescue_count, alone, gen, traceparent,
  app_now() > due_at + make_interval(secs => max_lateness_seconds) as overdue, account.channel_id,
  account.stopped_at is not null or organization.stopped_at is not null as stopped, account.quiet_policy,
  case when action.event_id is null and action.gen = 0
       then exists (select from scheduled_trigger_execution as cycle
                     where cycle.id = ${cycleIdOfAction} and cycle.status = 'cancelled' and cycle.reason_code = 'by_person')
       else false end as called_off,
  case when account.quiet_from is not null
       then to_json(after_quiet_hours(app_now(), account.id, account.timezone, account.quiet_zone, account.quiet_from, account.quiet_to,
                                      account.spread_minutes, user_id, action.id)) #>> '{}' end as quiet_until,
  case when exists (select from frequency_cap as cap where cap.line_oa_id = action.line_oa_id)
        and not exists (select from trigger_rule as rule where rule.id = action.trigger_rule_id and rule.exempt_from_caps)
       then array_remove(array[date_part('epoch', due_at), date_part('epoch', ${cycleInstant}), date_part('epoch', execute_at)], null)
       end as meant_for,
  extract(epoch from app_now() - execute_at)::float8 as late`;

const ACTION_WITH_ACCOUNT = sql`
  scheduled_action as action
  join line_oa as account on account.id = action.line_oa_id
  join organization on organization.id = action.organization_id`;

/**
 * Locks the rows in `processing` whose fence and tenant fit, in id order; the others were decided, taken back or changed, or
 * belong to somebody else, and are left out. A second holder waits and then finds nothing, so a message that is delivered twice
 * decides once. With each comes what its account says of this moment. The status is compared as in {@link finishActions}.
 */
export async function holdActions(tx: Tx, tickets: readonly TenantTicket[]): Promise<HeldAction[]> {
  const { rows } = await tx.execute<HeldRow>(sql`
    select ${HELD}
      from ${ACTION_WITH_ACCOUNT}
      join ${tenantTicketRows(tickets)}
        on action.id = ticket.id and action.fence = ticket.fence
       and action.organization_id = ticket.organization_id and action.line_oa_id = ticket.line_oa_id
     where action.status || '' = 'processing'
     order by action.id
       for no key update of action`);
  return rows.map(parseHeld);
}

/**
 * Locks the rows that claimBatch would claim, and leaves them `pending`: for whoever decides and finishes them in this very transaction
 * ({@link finishDue}), so that each is written once. While it is open nobody else claims them; when it fails, nothing has
 * happened. A row that was changed at this very moment is left to the next call, or comes as it was before: its fence keeps it from being
 * finished, and it is taken again.
 */
export async function holdDue(tx: Tx, claim: Claim): Promise<HeldAction[]> {
  const rows = await takeDue<HeldRow & DueRow>(
    tx,
    claim,
    (due) => sql`
    ${due}
    select ${HELD}, action.lane, ${PLACE} from ${ACTION_WITH_ACCOUNT} where ${IS_DUE}`,
  );
  return rows.map(parseHeld);
}

const parseHeld = (row: HeldRow): HeldAction => ({
  ...parseAction(row),
  fence: row.fence,
  sourceConfig: row.source_config === null ? null : readDocument(row.source_config),
  delaySpec: row.delay_spec === null ? null : (readDocument(row.delay_spec) as Delay),
  isWaiting: row.is_waiting,
  branch: row.branch,
  retryCount: row.retry_count,
  rescueCount: row.rescue_count,
  alone: row.alone,
  overdue: row.overdue ?? false,
  channelId: row.channel_id,
  stopped: row.stopped,
  calledOff: row.called_off,
  quietUntil: row.quiet_until,
  quietPolicy: row.quiet_policy,
  meantFor: row.meant_for?.map((seconds) => Math.round(seconds * 1_000_000)) ?? null,
  gen: row.gen,
  traceparent: row.traceparent,
  lateSeconds: row.late,
});
