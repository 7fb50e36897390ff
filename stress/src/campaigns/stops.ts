import type { ExportRecord, LedgerSource } from '@dueline/line-simulator';
import type { Cast, Stopped } from './cast.ts';
import { CHANNEL_IDS } from './stage.ts';

/** What had been started before a stop was acknowledged leaves its sender within a second, or not at all. */
const UNDER_WAY_MS = 1_000;

/**
 * As the checker of histories takes it: H10 holds from a second after the acknowledgement, or from when LINE had seen what was begun before. On a
 * busy machine that waits longer than a second in the simulator, where no product can take it back.
 */
export const stopRecord = ({ verb, campaign, atMs, untilMs }: Stopped, { lastOldMs }: StopTimes): ExportRecord => ({
  ...{ kind: 'stop', verb, lid: campaign.lid, channelId: CHANNEL_IDS[campaign.to] },
  at: new Date(atMs + Math.max(UNDER_WAY_MS, lastOldMs)).toISOString(),
  ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }),
});

/** How a stop went. */
export interface StopTimes extends Pick<Stopped, 'verb' | 'waitedMs'> {
  readonly lid: string;
  /** How long after the acknowledgement the last request was begun, by the product's own ledger; 0: none. */
  readonly lastBegunMs: number;
  /** How long after it LINE saw the last new key of what was begun before, and of what was begun after; 0: none. */
  readonly lastOldMs: number;
  readonly lastNewMs: number;
  /** Requests that were begun before. */
  readonly begunBefore: number;
}

interface Begun {
  readonly key: string;
  /** Process time, milliseconds since the epoch. */
  readonly startedMs: number;
}

export async function readStops(
  { database: { db }, clock }: Pick<Cast, 'database' | 'clock'>,
  ledger: LedgerSource,
  stopped: readonly Stopped[],
): Promise<StopTimes[]> {
  if (stopped.length === 0) return [];
  const firstSeen = new Map<string, number>();
  for await (const { retryKey, at } of ledger.requests())
    if (retryKey !== null && !firstSeen.has(retryKey)) firstSeen.set(retryKey, Date.parse(at));
  const times: StopTimes[] = [];
  for (const { verb, campaign, atMs, untilMs = Number.POSITIVE_INFINITY, waitedMs } of stopped) {
    const lastAfter = (instants: readonly number[]): number =>
      Math.round(Math.max(0, ...instants.filter((ms) => ms > atMs && ms < untilMs).map((ms) => ms - atMs)));
    const { rows } = await db.$client.query<Begun>(
      `select attempt.retry_key as key, (extract(epoch from min(started_at)) * 1000)::float as "startedMs"
         from delivery_attempt as attempt join delivery on delivery.id = delivery_id where campaign_id = $1 group by attempt.retry_key`,
      [campaign.ticket.id],
    );
    const begun = rows.map(({ key, startedMs }) => ({ key, ms: clock.toProductTime(startedMs) }));
    const seen = (keys: typeof begun) => lastAfter(keys.flatMap(({ key }) => firstSeen.get(key) ?? []));
    const before = begun.filter(({ ms }) => ms <= atMs);
    times.push({
      ...{ verb, lid: campaign.lid, waitedMs: Math.round(waitedMs), lastBegunMs: lastAfter(begun.map(({ ms }) => ms)) },
      lastOldMs: seen(before),
      lastNewMs: seen(begun.filter(({ ms }) => ms > atMs && ms < untilMs)),
      begunBefore: before.length,
    });
  }
  return times;
}
