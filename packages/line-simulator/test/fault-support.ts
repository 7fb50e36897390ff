import { Agent, request } from 'undici';
import { afterEach } from 'vitest';
import type { FaultRule, Simulator } from '../src/index.ts';
import { key, PUSH, text, user } from './support.ts';

const agents: Agent[] = [];
afterEach(async () => {
  await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
});

/** Connections of its own, as a client process has them; they end with the test. */
export function newAgent(): Agent {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: 1 });
  agents.push(agent);
  return agent;
}

/** What a client sees: a status with its whole text, a status whose body broke off, or the code of a failure. */
export interface Sight {
  status?: number;
  text?: string;
  headers?: Record<string, string | string[] | undefined>;
  cut?: string;
  failure?: string;
}

export interface Attempt {
  path?: string;
  body?: unknown;
  retryKey?: string;
  token?: string;
  timeoutMs?: number;
  agent?: Agent;
}

export const push = (n = 0) => ({ to: user(n), messages: [text(`hi [[lid:a:${n}:1]]`)] });

/** One attempt of a push under key 1, unless told otherwise, over the HTTP client that the product uses. */
export async function attempt(simulator: Simulator, options: Attempt = {}): Promise<Sight> {
  const { path = PUSH, body = push(), retryKey = key(1), token = 'token-1', timeoutMs = 20_000 } = options;
  try {
    const response = await request(simulator.apiUrl + path, {
      dispatcher: options.agent ?? newAgent(),
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-line-retry-key': retryKey },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { statusCode: status, headers } = response;
    try {
      return { status, headers, text: await response.body.text() };
    } catch (error) {
      return { status, headers, cut: codeOf(error) };
    }
  } catch (error) {
    return { failure: codeOf(error) };
  }
}

export const only = (rule: Omit<FaultRule, 'id'>) => ({ rules: [{ id: 'f', ...rule }] });

export const rowsOf = (simulator: Simulator) => ({
  requests: [...simulator.ledger.requests()],
  accepts: [...simulator.ledger.accepts()],
  receipts: [...simulator.ledger.receipts()],
});

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
