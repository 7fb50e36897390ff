import type { Db } from '@dueline/db';
import type { ExportRecord, LedgerSource } from '@dueline/line-simulator';
import type { Stopped } from './cast.ts';
import { CHANNEL_IDS } from './stage.ts';

/** What had been begun before a stop was acknowledged is at LINE within a second. */
const UNDER_WAY_MS = 1_000;

/** As the checker of histories takes it: H10 holds from a second after the acknowledgement. */
export const stopRecord = ({ verb, campaign, atMs, untilMs }: Stopped): ExportRecord => ({
  ...{ kind: 'stop', verb, lid: campaign.lid, channelId: CHANNEL_IDS[campaign.to] },
  at: new Date(atMs + UNDER_WAY_MS).toISOString(),
  ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }),
});

/** How a stop went. */
export interface StopTimes extends Pick<Stopped, 'verb' | 'waitedMs'> {
  readonly lid: string;
  /** How long after the acknowledgement LINE saw the last new key of the campaign; 0: none. */
  readonly lastNewMs: number;
  /** Of how many requests the first attempt came before the stop. */
  readonly begunBefore: number;
}

export async function readStops(db: Db, ledger: LedgerSource, stopped: readonly Stopped[]): Promise<StopTimes[]> {
  if (stopped.length === 0) return [];
  const firstSeen = new Map<string, number>();
  for await (const { retryKey, at } of ledger.requests())
    if (retryKey !== null && !firstSeen.has(retryKey)) firstSeen.set(retryKey, Date.parse(at));
  const times: StopTimes[] = [];
  for (const { verb, campaign, atMs, untilMs = Number.POSITIVE_INFINITY, waitedMs } of stopped) {
    const { rows } = await db.$client.query<{ key: string }>(
      'select distinct attempt.retry_key as key from delivery_attempt as attempt join delivery on delivery.id = delivery_id where campaign_id = $1',
      [campaign.ticket.id],
    );
    const seen = rows.flatMap(({ key }) => firstSeen.get(key) ?? []);
    const during = seen.filter((ms) => ms > atMs && ms < untilMs);
    times.push({
      ...{ verb, lid: campaign.lid, waitedMs: Math.round(waitedMs) },
      lastNewMs: Math.max(0, ...during.map((ms) => ms - atMs)),
      begunBefore: seen.filter((ms) => ms <= atMs).length,
    });
  }
  return times;
}
