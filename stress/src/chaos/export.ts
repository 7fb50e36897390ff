import type { Db } from '@dueline/db';
import {
  type AttemptOutcome,
  type DeliveryStatus,
  type LogicalSend,
  retryKey,
  retryKeyName,
} from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import {
  type ExportRecord,
  extractLids,
  type RecipientState,
  type AttemptOutcome as ToldOutcome,
} from '@dueline/line-simulator';
import { exportStops } from './export-stops.ts';

/** What a recipient is told to be while the delivery that names it has this status; undefined: others stand for it. */
const STATE_OF: Readonly<Record<DeliveryStatus, RecipientState | undefined>> = {
  planned: 'planned',
  sending: 'planned',
  accepted: 'accepted',
  refused: 'invalid',
  split: undefined,
  unknown: 'unknown',
  expired: 'expired',
  cancelled: 'cancelled',
};

const OUTCOME_OF: Readonly<Record<AttemptOutcome, ToldOutcome>> = {
  accepted: 'ACCEPTED',
  already: 'ALREADY',
  refused: 'REFUSED',
  auth: 'AUTH',
  throttled: 'THROTTLED',
  not_reached: 'NOT_REACHED',
  ambiguous: 'AMBIGUOUS',
};

/** Stands for all recipients of a broadcast. */
const EVERYONE = '*';
/** Deliveries, and so bodies of up to 500 people, that are in memory at once. */
const PAGE = 200;

interface DeliveryRow extends LogicalSend {
  readonly id: string;
  readonly status: DeliveryStatus;
  readonly retryKey: string;
  readonly body: string;
  readonly acceptedRequestId: string | null;
  /** Product time, milliseconds since the epoch. */
  readonly createdMs: number;
  /** Process time, milliseconds since the epoch. */
  readonly updatedMs: number;
}

interface AttemptRow {
  readonly deliveryId: string;
  readonly retryKey: string;
  readonly outcome: AttemptOutcome | null;
  readonly requestId: string | null;
  readonly startedMs: number;
  readonly finishedMs: number | null;
}

/** Leads from process time to the clock that LINE ran by; milliseconds since the epoch, both. */
export type ToProductTime = (processMs: number) => number;

/**
 * Everything that the database says it asked LINE for, in the form that the checker of histories takes: each delivery of a message with
 * its recipients, their states and its attempts, then what was stopped and cancelled. Reads a page at a time. Every message must carry a
 * mark, `[[lid:…]]`.
 *
 * @param options.attemptDeadlineMs How long an attempt may take: what began before a stop has left by then.
 * @throws PermanentError for a message without a mark; says which.
 */
export async function* exportHistory(
  db: Db,
  options: { toProductTime: ToProductTime; attemptDeadlineMs: number },
): AsyncGenerator<ExportRecord> {
  for (let after = '0'; ; ) {
    const deliveries = await readDeliveries(db, after);
    const last = deliveries.at(-1);
    if (last === undefined) break;
    const attempts = Map.groupBy(await readAttempts(db, deliveries), ({ deliveryId }) => deliveryId);
    for (const delivery of deliveries)
      yield* recordsOf(delivery, attempts.get(delivery.id) ?? [], options.toProductTime);
    after = last.id;
  }
  yield* exportStops(db, options);
}

async function readDeliveries(db: Db, after: string): Promise<DeliveryRow[]> {
  const { rows } = await db.$client.query<DeliveryRow>(
    `select delivery.id, account.channel_id as "channelId", kind, logical_id as "logicalId", epoch, endpoint, ordinal,
            split_path as "splitPath", delivery.status, retry_key as "retryKey", body,
            line_accepted_request_id as "acceptedRequestId",
            (extract(epoch from delivery.created_date) * 1000)::float as "createdMs",
            (extract(epoch from delivery.updated_date) * 1000)::float as "updatedMs"
       from delivery join line_oa as account on account.id = delivery.line_oa_id
      where delivery.id > $1 and endpoint in ('push', 'multicast', 'broadcast')
      order by delivery.id limit ${PAGE}`,
    [after],
  );
  return rows;
}

async function readAttempts(db: Db, deliveries: readonly DeliveryRow[]): Promise<AttemptRow[]> {
  const { rows } = await db.$client.query<AttemptRow>(
    `select delivery_id as "deliveryId", retry_key as "retryKey", outcome, line_request_id as "requestId",
            (extract(epoch from started_at) * 1000)::float as "startedMs",
            (extract(epoch from finished_at) * 1000)::float as "finishedMs"
       from delivery_attempt where delivery_id = any($1::bigint[]) order by delivery_id, attempt_no`,
    [deliveries.map(({ id }) => id)],
  );
  return rows;
}

function* recordsOf(
  delivery: DeliveryRow,
  attempts: readonly AttemptRow[],
  toProductTime: ToProductTime,
): Generator<ExportRecord> {
  const { channelId } = delivery;
  const { to = EVERYONE, messages } = JSON.parse(delivery.body) as {
    to?: string | readonly string[];
    messages: unknown[];
  };
  const lids = extractLids(messages);
  const [mark] = lids;
  if (mark === undefined) throw new PermanentError(`the messages of delivery ${delivery.id} carry no [[lid:…]]`);
  const state = STATE_OF[delivery.status];
  const at = instant(toProductTime(delivery.updatedMs));
  for (const lid of state === undefined ? [] : lids) {
    for (const user of typeof to === 'string' ? [to] : to) {
      yield { kind: 'planned', channelId, lid, user, dueAt: instant(delivery.createdMs) };
      if (state !== undefined) yield { kind: 'state', channelId, lid, user, state, at, retryKey: delivery.retryKey };
    }
  }
  for (const attempt of attempts) {
    const { retryKey: key, outcome, requestId, startedMs, finishedMs } = attempt;
    yield {
      ...{ kind: 'attempt', channelId, lid: mark, retryKey: key, keyName: nameOf(delivery, key), requestId },
      acceptedRequestId: outcome === 'already' && key === delivery.retryKey ? delivery.acceptedRequestId : null,
      startedAt: instant(toProductTime(startedMs)),
      finishedAt: finishedMs === null ? null : instant(toProductTime(finishedMs)),
      outcome: outcome === null ? null : OUTCOME_OF[outcome],
    };
  }
}

/** The name that a key of this delivery had to have: of its epoch now, or of one before. */
function nameOf({ channelId, kind, logicalId, endpoint, ordinal, splitPath, epoch }: DeliveryRow, key: string): string {
  const ofEpoch = (number: number) => ({ channelId, kind, logicalId, endpoint, ordinal, splitPath, epoch: number });
  for (let number = epoch; number > 1; number -= 1)
    if (retryKey(ofEpoch(number)) === key) return retryKeyName(ofEpoch(number));
  return retryKeyName(ofEpoch(1));
}

const instant = (ms: number): string => new Date(ms).toISOString();
