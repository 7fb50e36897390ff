import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CheckedViolation, Clock, Ledger, LedgerSource } from '../../src/index.ts';
import { CHANNEL } from '../support.ts';

/** What goes wrong with which request; the first that matches is played. */
export interface Breakage {
  /** Ordinals of requests, from 1; all of them if left out. */
  readonly nth?: readonly number[];
  /** So long after the start, by LINE's clock. */
  readonly untilMs?: number;
  /** Before LINE has it, or after LINE took it. */
  readonly phase: 'beforeAccept' | 'afterAccept';
  readonly effect: { readonly type: 'reset' } | { readonly type: 'status' | 'redirect'; readonly status: number };
}

export interface BrokenLine {
  readonly url: string;
  /** How many requests came through. */
  readonly count: number;
  /** The simulator's ledger, and the requests that followed a redirect. */
  readonly ledger: LedgerSource;
  close(): Promise<void>;
}

const ELSEWHERE = '/elsewhere';

/** Stands before a simulator, and breaks what goes through it. */
export async function breakLine(
  { apiUrl, ledger, clock }: { apiUrl: string; ledger: Ledger; clock: Clock },
  breakages: readonly Breakage[],
): Promise<BrokenLine> {
  const since = clock.now();
  const strays: CheckedViolation[] = [];
  let count = 0;
  const choose = () =>
    breakages.find(
      ({ nth, untilMs }) =>
        (nth === undefined || nth.includes(count)) && (untilMs === undefined || clock.now() - since < untilMs),
    );

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === ELSEWHERE) {
      strays.push(strayOf(strays.length + 1, clock));
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    }
    count += 1;
    const breakage = choose();
    const body = await bodyOf(request);
    const answer = breakage?.phase === 'beforeAccept' ? undefined : await forward(apiUrl, request, body);
    if (breakage?.effect.type === 'reset') return request.socket.resetAndDestroy();
    if (breakage !== undefined) return response.writeHead(breakage.effect.status, { location: ELSEWHERE }).end('{}');
    if (answer === undefined) throw new Error('no answer to pass on');
    return response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get count() {
      return count;
    },
    ledger: {
      requests: ledger.requests,
      accepts: ledger.accepts,
      receipts: ledger.receipts,
      violations: () => [...ledger.violations(), ...strays],
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function forward(apiUrl: string, { url, method = 'GET', headers }: IncomingMessage, body: Buffer): Promise<Response> {
  const kept = ['authorization', 'content-type', 'x-line-retry-key'].flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return fetch(`${apiUrl}${url}`, { method, headers: kept.map(([name, value]) => [name, value]), body });
}

function strayOf(seq: number, clock: Clock): CheckedViolation {
  return {
    seq,
    code: 'V7',
    at: new Date(clock.now()).toISOString(),
    requestSeq: 0,
    requestId: '',
    channelId: CHANNEL,
    retryKey: null,
    user: null,
    lid: null,
    detail: null,
  };
}
