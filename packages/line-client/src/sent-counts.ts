import { Agent } from 'undici';
import { failureText } from './network-failure.ts';
import { shortDetail } from './outcome.ts';

/** What LINE counts by day. */
export type CountedEndpoint = 'push' | 'multicast' | 'broadcast';

/**
 * How many people LINE says it sent to. `unready`: it has not counted that day yet; `never`: it does not count days so long ago;
 * `not_told`: nobody knows, try again.
 */
export type SentCount =
  | { readonly kind: 'ready'; readonly count: number }
  | { readonly kind: 'unready' | 'never' }
  | { readonly kind: 'not_told'; readonly detail: string };

export interface SentCountClient {
  /** @param of.day `yyyy-mm-dd` of UTC+9. Never throws and never retries. What was sent by LINE's own manager is not in it. */
  sentOn(of: {
    readonly channelAccessToken: string;
    readonly endpoint: CountedEndpoint;
    readonly day: string;
  }): Promise<SentCount>;
  close(): void;
}

const QUESTION_TIMEOUT_MS = 5_000;

/**
 * @param options.baseUrl Only its origin is used.
 * @param options.timeoutMs Longest time for one question, in milliseconds (5,000).
 */
export function createSentCountClient({
  baseUrl,
  timeoutMs = QUESTION_TIMEOUT_MS,
}: {
  baseUrl: string;
  timeoutMs?: number;
}): SentCountClient {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: timeoutMs } });
  const { origin } = new URL(baseUrl);
  return {
    async sentOn({ channelAccessToken, endpoint, day }) {
      try {
        const response = await agent.request({
          origin,
          path: `/v2/bot/message/delivery/${endpoint}?date=${day.replaceAll('-', '')}`,
          method: 'GET',
          headers: { authorization: `Bearer ${channelAccessToken}` },
          signal: AbortSignal.timeout(timeoutMs),
        });
        return countOf(response.statusCode, await response.body.text());
      } catch (error) {
        return { kind: 'not_told', detail: shortDetail(failureText(error)) };
      }
    },
    close: () => void agent.destroy(),
  };
}

function countOf(status: number, text: string): SentCount {
  if (status !== 200) return { kind: 'not_told', detail: String(status) };
  const body: unknown = JSON.parse(text);
  const of = typeof body === 'object' && body !== null && 'status' in body ? body : { status: undefined };
  if (of.status === 'unready') return { kind: 'unready' };
  if (of.status === 'out_of_service') return { kind: 'never' };
  const count = 'success' in of ? of.success : undefined;
  if (of.status === 'ready' && typeof count === 'number' && Number.isInteger(count) && count >= 0)
    return { kind: 'ready', count };
  return { kind: 'not_told', detail: '200 that is no LINE answer' };
}
