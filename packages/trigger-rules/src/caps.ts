import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { within } from './author.ts';

/** At most `maxMessages` to one person within any `windowSeconds` seconds of product time. */
export interface FrequencyCap {
  readonly maxMessages: number;
  readonly windowSeconds: number;
}

/** Longest window of a cap in seconds: 365 days. Ours, as the other bounds: a tally of a person stays one small row. */
const MAX_WINDOW_SECONDS = 31_536_000;
const capSchema = z.strictObject({
  maxMessages: z.number().int().min(1).max(1_000),
  windowSeconds: z.number().int().min(60).max(MAX_WINDOW_SECONDS),
});

/**
 * Caps what the rules of an account send to one person: one cap for each length of window, and all must leave room. What was sent before the
 * account had its first cap is not known, campaigns apart. `maxMessages` null takes the cap of that window away.
 *
 * @throws PermanentError when a number is out of bounds.
 */
export async function setFrequencyCap(
  on: Db | Tx,
  tenant: Tenant,
  { maxMessages, windowSeconds }: { maxMessages: number | null; windowSeconds: number },
): Promise<void> {
  const parsed = capSchema.safeParse({ maxMessages: maxMessages ?? 1, windowSeconds });
  if (!parsed.success) {
    const bounds = 'a cap is 1 to 1,000 messages in 60 s to 365 days';
    throw new PermanentError(bounds);
  }
  await within(on, tenant, async (tx) => {
    if (maxMessages === null)
      await tx.execute(sql`
        delete from frequency_cap where line_oa_id = ${tenant.lineOaId} and window_seconds = ${windowSeconds}`);
    else
      await tx.execute(sql`
        insert into frequency_cap (organization_id, line_oa_id, window_seconds, max_messages)
        values (${tenant.organizationId}, ${tenant.lineOaId}, ${windowSeconds}, ${maxMessages})
            on conflict (line_oa_id, window_seconds) do update set max_messages = excluded.max_messages`);
  });
}

/** The caps of an account, the shortest window first. */
export function listFrequencyCaps(db: Db, tenant: Tenant): Promise<FrequencyCap[]> {
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<{ max: number; seconds: number }>(sql`
      select max_messages as max, window_seconds as seconds from frequency_cap order by window_seconds`);
    return rows.map(({ max, seconds }) => ({ maxMessages: max, windowSeconds: seconds }));
  });
}
