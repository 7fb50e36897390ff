import type { Delay, Tenant, WaitFor } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { insertRow, lineUserId } from '@dueline/db/testing';

/** A link, a form and a booking of an account. */
export async function insertThings(db: Db, tenant: Tenant) {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const { id: linkId = '' } = await insertRow(db, 'tracked_link', {
    ...base,
    name: 'shop',
    url: 'https://example.com',
  });
  const { id: formId = '' } = await insertRow(db, 'form', { ...base, name: 'survey' });
  const { id: bookingId = '' } = await insertRow(db, 'booking', {
    ...{ ...base, user_id: lineUserId(1), name: 'cut', starts_at: '2026-06-01T10:00:00Z' },
  });
  return { linkId: String(linkId), formId: String(formId), bookingId: String(bookingId) };
}

/** What makes a repeated report one fact, by table. */
const KEYS: Readonly<Record<string, string>> = { friend_track_event: 'webhook_event_id', attribute_change: 'event_id' };

/** A fact about the first person, as another service writes it: in plain SQL, without any lock of ours. */
export const insertFact = (
  db: Db,
  tenant: Tenant,
  { table, ...columns }: { table: string; [column: string]: unknown },
) =>
  insertRow(db, table, {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1) },
    ...{ [KEYS[table] ?? 'idempotency_key']: crypto.randomUUID(), ...columns },
  });

/** A delay that waits for a minute for any of these. */
export const waitingFor = (...waits: WaitFor[]): Extract<Delay, { mode: 'waitForTracking' }> => ({
  ...{ mode: 'waitForTracking', expiresSeconds: 60, waits, onExpired: { do: 'skip' }, reEvaluateConditions: false },
});
