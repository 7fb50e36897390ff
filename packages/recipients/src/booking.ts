import type { BookingEventType, Tenant } from '@dueline/contracts';
import { type Db, errorCode, inTenant, refuseIf, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';

const REFUSALS = {
  '22P02': 'no such booking in this account',
  '22021': 'a text cannot be stored',
  '54000': 'the key of a report is too long',
  '22007': 'a time is not RFC 3339',
  '22008': 'a time is out of range',
  '23514': 'the user id is not one of LINE',
};

/** What is told of a booking. */
export interface BookingReport {
  /** The same report made again has the same key and changes nothing. */
  readonly idempotencyKey: string;
  /** RFC 3339; now, when left out. */
  readonly occurredAt?: string | undefined;
}

/**
 * Creates a booking with the event that tells of it, and returns its id; repeated with the same key, the id of the first.
 *
 * @param booking.startsAt RFC 3339.
 * @throws PermanentError when a time or the user id is malformed.
 */
export async function createBooking(
  db: Db,
  tenant: Tenant,
  booking: BookingReport & { userId: string; name: string; startsAt: string },
): Promise<string> {
  try {
    return await refuseIf(REFUSALS, () =>
      inTenant(db, tenant, async (tx) => {
        const { rows } = await tx.execute<{ id: string }>(sql`
          insert into booking (organization_id, line_oa_id, user_id, name, starts_at)
          values (${tenant.organizationId}, ${tenant.lineOaId}, ${booking.userId}, ${booking.name}, ${booking.startsAt})
          returning id`);
        if (rows[0] === undefined) throw new Error('insert returned no row');
        await tell(tx, { ...booking, bookingId: rows[0].id, type: 'created' });
        return rows[0].id;
      }),
    );
  } catch (error) {
    if (errorCode(error) === '23505') return createdBefore(db, tenant, booking.idempotencyKey);
    throw error;
  }
}

async function createdBefore(db: Db, tenant: Tenant, idempotencyKey: string): Promise<string> {
  const { rows } = await inTenant(db, tenant, (tx) =>
    tx.execute<{ booking_id: string }>(sql`
      select booking_id from booking_event where idempotency_key = ${idempotencyKey} and type = 'created'`),
  );
  if (rows[0] === undefined) throw new PermanentError('the key belongs to another report');
  return rows[0].booking_id;
}

/**
 * Moves a booking to another time, with the event that tells of it. False: the report was known.
 *
 * @param move.startsAt RFC 3339.
 * @throws PermanentError when there is no such booking, it is cancelled, or a time is malformed.
 */
export const moveBooking = (
  db: Db,
  tenant: Tenant,
  move: BookingReport & { bookingId: string; startsAt: string },
): Promise<boolean> =>
  changeBooking(db, tenant, {
    report: { ...move, type: 'rescheduled' },
    change: (tx) =>
      tx.execute(
        sql`update booking set starts_at = ${move.startsAt}, updated_date = app_now() where id = ${move.bookingId}`,
      ),
  });

/**
 * Cancels a booking, with the event that tells of it. False: the report was known.
 *
 * @throws PermanentError when there is no such booking, it is cancelled by another report, or a time is malformed.
 */
export const cancelBooking = (
  db: Db,
  tenant: Tenant,
  cancellation: BookingReport & { bookingId: string },
): Promise<boolean> =>
  changeBooking(db, tenant, {
    report: { ...cancellation, type: 'cancelled' },
    change: (tx) =>
      tx.execute(sql`
        update booking set cancelled_date = app_now(), updated_date = app_now() where id = ${cancellation.bookingId}`),
  });

type Report = BookingReport & { readonly bookingId: string; readonly type: BookingEventType };

async function changeBooking(
  db: Db,
  tenant: Tenant,
  { report, change }: { report: Report; change: (tx: Tx) => Promise<unknown> },
): Promise<boolean> {
  return refuseIf(REFUSALS, () =>
    inTenant(db, tenant, async (tx) => {
      const { rows } = await tx.execute<{ cancelled: boolean }>(sql`
        select cancelled_date is not null as cancelled from booking where id = ${report.bookingId} for no key update`);
      if (rows[0] === undefined) throw new PermanentError('no such booking in this account');
      const { rows: known } = await tx.execute(sql`
        select from booking_event where idempotency_key = ${report.idempotencyKey}`);
      if (known.length > 0) return false;
      if (rows[0].cancelled) throw new PermanentError('the booking is cancelled');
      await change(tx);
      await tell(tx, report);
      return true;
    }),
  );
}

async function tell(tx: Tx, { bookingId, type, idempotencyKey, occurredAt }: Report): Promise<void> {
  await tx.execute(sql`
    insert into booking_event (organization_id, line_oa_id, booking_id, user_id, type, idempotency_key, occurred_at)
    select organization_id, line_oa_id, id, user_id, ${type}, ${idempotencyKey}, coalesce(${occurredAt ?? null}::timestamptz, app_now())
      from booking where id = ${bookingId}`);
}
