import { type Db, sql } from '@dueline/db';
import { campaignTickKeyPrefix, tickTtlSeconds } from './state.ts';

/** One tick of the campaign clock: whoever sets the key first publishes it. */
export interface TickKey {
  /** `CAMPAIGN_SCHEDULE_TICK:<yyyy-MM-ddTHH:mm>`, UTC of product time; with `:ss` when ticks are less than a minute apart. */
  readonly key: string;
  readonly ttlMs: number;
}

/** The tick that the product's clock stands at, for ticks every `intervalSeconds` (60 by the seeds; whole seconds). */
export async function currentTick(db: Db, { intervalSeconds }: { intervalSeconds: number }): Promise<TickKey> {
  const format = intervalSeconds < 60 ? 'YYYY-MM-DD"T"HH24:MI:SS' : 'YYYY-MM-DD"T"HH24:MI';
  const { rows } = await db.execute<{ at: string }>(sql`
    select to_char(to_timestamp(floor(extract(epoch from app_now()) / ${intervalSeconds}::int) * ${intervalSeconds}::int) at time zone 'UTC',
                   ${format}::text) as at`);
  const ttlMs = Math.round((intervalSeconds * 1_000 * tickTtlSeconds) / 60);
  return { key: `${campaignTickKeyPrefix}${rows[0]?.at ?? ''}`, ttlMs };
}
