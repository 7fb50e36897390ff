import { scheduleAsSeen } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';

interface Held extends Record<string, unknown> {
  readonly id: string;
  readonly fence: string;
  readonly now: string;
}

/**
 * A person who looks at what was held before its start because LINE had said that the month is used up (F05), and lets it go. Returns how many
 * campaigns that were: each is scheduled for now, whatever the month.
 */
export async function releaseHeld(db: Db, tenants: readonly Tenant[]): Promise<number> {
  let released = 0;
  for (const tenant of tenants) {
    const { rows } = await db.$client.query<Held>(
      `select id, fence, to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now from campaign
        where line_oa_id = $1 and status = 'needs_attention' and frozen_at is null and reason_code = 'quota_short'`,
      [tenant.lineOaId],
    );
    for (const { id, fence, now } of rows) {
      await scheduleAsSeen(db, tenant, { campaign: { id, fence }, startDate: now, ignoresQuota: true });
      released += 1;
    }
  }
  return released;
}
