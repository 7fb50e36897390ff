import { afterEach } from 'vitest';
import { type ChannelConfig, type Clock, createSimulator, nthUserId, type Simulator } from '../src/index.ts';

const TOKEN = 'token-1';
export const CHANNEL = '2000000001';
export const PUSH = '/v2/bot/message/push';
export const MULTICAST = '/v2/bot/message/multicast';
export const BROADCAST = '/v2/bot/message/broadcast';

const running: Simulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

/** A clock that only the test moves. */
export function manualClock(startsAt = '2026-12-01T00:00:00.000Z'): Clock & { advance(ms: number): void } {
  let nowMs = Date.parse(startsAt);
  return {
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}

/** A simulator with one channel of ten friends; it ends with the test. */
export async function start(channel: Partial<ChannelConfig> = {}, clock: Clock = manualClock()) {
  const simulator = await createSimulator({
    clock,
    channels: [{ channelId: CHANNEL, channelAccessToken: TOKEN, users: [{ prefix: 'a', count: 10 }], ...channel }],
  });
  running.push(simulator);
  return simulator;
}

export const user = (n: number) => nthUserId('a', n);
export const key = (n: number) => `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`;
export const text = (value: string) => ({ type: 'text', text: value });

export interface Call {
  method?: string;
  body?: unknown;
  /** Sent as it is instead of `body`. */
  raw?: string;
  retryKey?: string;
  token?: string;
  contentType?: string;
}

/** One request as a client would send it, and everything of the answer. */
export async function call(simulator: Simulator, path: string, options: Call = {}) {
  const { body, raw, retryKey, token = TOKEN, contentType = 'application/json' } = options;
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(simulator.apiUrl + path, {
    method: options.method ?? (payload === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${token}`,
      ...(payload !== undefined && { 'content-type': contentType }),
      ...(retryKey !== undefined && { 'x-line-retry-key': retryKey }),
    },
    ...(payload !== undefined && { body: payload }),
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    requestId: response.headers.get('x-line-request-id'),
    acceptedRequestId: response.headers.get('x-line-accepted-request-id'),
    contentType: response.headers.get('content-type'),
  };
}

/** A control call; JSON lines come as a list. */
export async function control(simulator: Simulator, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${simulator.controlUrl}/__sim${path}`, {
    ...(body !== undefined && {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  const answer = await response.text();
  if (!response.headers.get('content-type')?.includes('jsonl')) return JSON.parse(answer);
  return answer
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

export const codes = (simulator: Simulator) => [...simulator.ledger.violations()].map((row) => row.code);
