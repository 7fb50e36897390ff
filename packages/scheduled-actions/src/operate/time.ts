import { MAX_DELAY_SECONDS, type Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';

const HAS_OFFSET = /(Z|[+-]\d{2}:\d{2})$/;
const SHAPE = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?$/;

function isOnTheCalendar(time: string): boolean {
  try {
    if (HAS_OFFSET.test(time)) Temporal.Instant.from(time);
    else Temporal.PlainDateTime.from(time);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** A time as a person names it: an instant (`2026-03-01T10:00+09:00`), or a local time of the account (`2026-03-01T10:00`). */
export const actionTime = z
  .string()
  .refine(
    (time) => SHAPE.test(time) && isOnTheCalendar(time),
    'must be like 2026-03-01T10:00 or 2026-03-01T10:00+09:00',
  );

/**
 * The instant that a time means in a zone; of a local time that happens twice, the second: never early. Pure.
 *
 * @throws PermanentError when the clocks of that zone skip the local time.
 */
export function instantOf(time: string, timezone: string): string {
  if (HAS_OFFSET.test(time)) return Temporal.Instant.from(time).toString();
  const local = Temporal.PlainDateTime.from(time);
  const zoned = local.toZonedDateTime(timezone, { disambiguation: 'later' });
  if (zoned.toPlainDateTime().equals(local)) return zoned.toInstant().toString();
  throw new PermanentError('the local time does not exist: the clocks of the account skip it', {
    context: { time, timezone },
  });
}

/** The same in the zone of the account. @throws PermanentError when there is no such account. */
export async function accountInstant(tx: Tx, tenant: Tenant, time: string): Promise<string> {
  const { rows } = await tx.execute<{ timezone: string }>(
    sql`select timezone from line_oa where organization_id = ${tenant.organizationId} and id = ${tenant.lineOaId}`,
  );
  if (rows[0] === undefined) throw new PermanentError('there is no such account', { context: { ...tenant } });
  return instantOf(time, rows[0].timezone);
}

/** The same, for work that shall be due then. @throws PermanentError when it is past, or further away than any delay may be. */
export async function futureInstant(tx: Tx, tenant: Tenant, time: string): Promise<string> {
  const instant = await accountInstant(tx, tenant, time);
  const { rows } = await tx.execute<{ ahead: number }>(
    sql`select extract(epoch from ${instant}::timestamptz - app_now())::float8 as ahead`,
  );
  const ahead = Number(rows[0]?.ahead);
  if (ahead < 0) throw new PermanentError('the time is past; what shall run at once is fired', { context: { time } });
  if (ahead > MAX_DELAY_SECONDS)
    throw new PermanentError('the time is more than ten years away', { context: { time } });
  return instant;
}
