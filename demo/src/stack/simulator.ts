import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { ChannelConfig, ReceiptRow, ViolationRow } from '@dueline/line-simulator';
import { type OurProcess, ROOT, spawnNode } from './process.ts';

/** The simulated LINE, in a process of its own. */
export interface LineSimulator {
  readonly process: OurProcess;
  readonly apiUrl: string;
  /** Base URL of its control API. */
  readonly controlUrl: string;
  receiptsSince(seq: number): Promise<ReceiptRow[]>;
  violations(): Promise<ViolationRow[]>;
  /** From now on LINE accepts messages to these users and delivers none. */
  block(channelId: string, userIds: readonly string[]): Promise<void>;
  /** Puts LINE's clock so many milliseconds ahead of the machine's; only forward. */
  moveClock(aheadMs: number): Promise<void>;
  /** Sends past the product, as a broken client would: under a new retry key. */
  pushAround(token: string, body: object): Promise<void>;
}

export async function startSimulator(channels: readonly ChannelConfig[], logFolder: string): Promise<LineSimulator> {
  const ready = Promise.withResolvers<{ api: number; control: number }>();
  let output = '';
  const simulator = spawnNode(
    {
      name: 'line-simulator',
      args: ['src/main.ts'],
      cwd: join(ROOT, 'packages/line-simulator'),
      env: {},
      logFile: join(logFolder, 'line-simulator.log'),
    },
    (text) => {
      output += text;
      if (output.includes('\n')) ready.resolve(JSON.parse(output));
    },
  );
  simulator.child.once('exit', (code) =>
    ready.reject(new Error(`the LINE simulator ended with ${code}:\n${simulator.tail()}`)),
  );
  const ports = await ready.promise;
  const apiUrl = `http://127.0.0.1:${ports.api}`;
  const line = connectSimulator(`http://127.0.0.1:${ports.control}/__sim`);
  await line.open(channels);
  return {
    ...line,
    process: simulator,
    apiUrl,
    pushAround: (token, body) =>
      post(`${apiUrl}/v2/bot/message/push`, body, {
        authorization: `Bearer ${token}`,
        'x-line-retry-key': randomUUID(),
      }),
  };
}

/** What the control API of a simulator can do that runs somewhere already, at the base URL `controlUrl`. */
export type SimulatorControl = Omit<LineSimulator, 'process' | 'apiUrl' | 'pushAround'> & {
  /** Adds these accounts. */
  open(channels: readonly ChannelConfig[]): Promise<void>;
};

export const connectSimulator = (controlUrl: string): SimulatorControl => ({
  controlUrl,
  ...lineControl(controlUrl),
  open: (channels) => post(`${controlUrl}/channels`, { channels }),
  receiptsSince: (seq) => readLines<ReceiptRow>(`${controlUrl}/ledger/receipts?since=${seq}`),
  violations: () => readLines<ViolationRow>(`${controlUrl}/ledger/violations`),
  block: (channelId, userIds) => post(`${controlUrl}/users/block`, { channelId, userIds }),
});

/** What moves the time of a running simulator. */
export const lineControl = (controlUrl: string): Pick<LineSimulator, 'moveClock'> => ({
  moveClock: (aheadMs) => post(`${controlUrl}/clock`, { aheadMs }),
});

async function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`the LINE simulator answered ${response.status}: ${await response.text()}`);
}

async function readLines<Row>(url: string): Promise<Row[]> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the LINE simulator answered ${response.status}: ${await response.text()}`);
  const text = await response.text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}
