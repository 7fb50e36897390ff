import type { Ticket } from '@dueline/contracts';
import { errorCode, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';

const localStart = z.strictObject({
  local: z
    .string()
    .regex(/^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/, 'a local time is YYYY-MM-DDTHH:MM')
    .refine(isOnCalendar, 'there is no such day'),
  zone: z.string().optional(),
});

/** When a campaign starts, by a clock on a wall: `local` is `YYYY-MM-DDTHH:MM`, `zone` an IANA zone (`Asia/Bangkok`); left out: the account's. */
export type LocalStart = z.input<typeof localStart>;

/** The new ticket, and the instant that the local time stands for now; RFC 3339. */
export interface LocallyScheduled extends Ticket {
  readonly startDate: string;
}

/**
 * scheduled -> scheduled, for a local time, under the fence that the person saw: the time is kept as it was given, beside its instant. A time
 * that the clock skips is as much later as the clock jumps; one that it shows twice is the second: never early. One in the account's zone
 * moves when the account's zone is changed, until the recipients are frozen. Undefined: the campaign has moved on, is deleted, or its recipients are frozen.
 *
 * @param tx As the tenant (`inTenant`).
 * @throws PermanentError whose message names the first wrong field, or says that the start is not before `not_after`.
 */
export async function startAtLocalTime(
  tx: Tx,
  { campaign, ...given }: LocalStart & { campaign: Ticket },
): Promise<LocallyScheduled | undefined> {
  const { data: start, error } = localStart.safeParse(given);
  if (start === undefined) {
    const [issue] = error.issues;
    throw new PermanentError(`start is invalid at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`);
  }
  const { rows } = await knowingZone(
    tx.execute<{ id: string; fence: string; start_date: string; is_late: boolean | null }>(sql`
      update campaign
         set fence = fence + 1, start_local = ${start.local}, start_zone = ${start.zone ?? null}, updated_date = clock_timestamp()
       where id = ${campaign.id} and fence = ${campaign.fence} and status = 'scheduled' and frozen_at is null and deleted_date is null
      returning id, fence, to_json(start_date) #>> '{}' as start_date, not_after <= start_date as is_late`),
  );
  const [row] = rows;
  if (row?.is_late) throw new PermanentError('start is invalid at /local: must be before notAfter');
  return row && { id: row.id, fence: row.fence, startDate: row.start_date };
}

async function knowingZone<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (errorCode(error) !== '22023') throw error;
    throw new PermanentError('start is invalid at /zone: no zone has this name; one is called like Asia/Bangkok');
  }
}

function isOnCalendar(local: string): boolean {
  const day = new Date(`${local.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(local.slice(0, 10));
}
