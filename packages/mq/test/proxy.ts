import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Proxy {
  /** The given AMQP URL, through the proxy. */
  readonly url: string;
  /** Swallows everything on open connections, for ever; new ones are accepted and never answered until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Ends open connections and refuses new ones until `thaw`. */
  cut(): void;
  /** Ends a connection instead of handing on the next bytes of a client that hold these, so many times. */
  cutBefore(bytes: Buffer, times: number): void;
  /** Sends bytes to the clients as if the broker had; only while it sends nothing itself. */
  inject(bytes: Buffer): void;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket | undefined;
  silent: boolean;
}

/** A TCP proxy before the broker that can fall silent; ends with the test. */
export async function createProxy(url: string): Promise<Proxy> {
  const broker = new URL(url);
  const pairs = new Set<Pair>();
  let mode: 'open' | 'frozen' | 'cut' = 'open';
  let trap: { readonly bytes: Buffer; left: number } | undefined;
  const isTrapped = (sent: Buffer) => {
    if (trap === undefined || trap.left === 0 || !sent.includes(trap.bytes)) return false;
    trap.left -= 1;
    return true;
  };
  const server = createServer((client) => {
    client.on('error', () => client.destroy());
    if (mode === 'cut') return void client.destroy();
    const upstream = mode === 'open' ? connect(Number(broker.port), broker.hostname) : undefined;
    const pair: Pair = { client, upstream, silent: false };
    pairs.add(pair);
    client.on('data', (bytes: Buffer) => {
      if (isTrapped(bytes)) client.destroy();
      else if (!pair.silent) upstream?.write(bytes);
    });
    upstream?.on('data', (bytes) => pair.silent || client.write(bytes));
    upstream?.on('error', () => client.destroy());
    upstream?.on('close', () => pair.silent || client.destroy());
    client.on('close', () => {
      upstream?.destroy();
      pairs.delete(pair);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endAll = () => {
    for (const { client, upstream } of pairs) for (const socket of [client, upstream]) socket?.destroy();
  };
  onTestFinished(() => {
    server.close();
    endAll();
  });
  const address = server.address();
  const target = new URL(url);
  target.port = String(typeof address === 'object' ? address?.port : '');
  return {
    url: target.href,
    freeze: () => {
      mode = 'frozen';
      for (const pair of pairs) pair.silent = true;
    },
    thaw: () => {
      mode = 'open';
    },
    cut: () => {
      mode = 'cut';
      endAll();
    },
    cutBefore: (bytes, times) => {
      trap = { bytes, left: times };
    },
    inject: (bytes) => {
      for (const { client } of pairs) client.write(bytes);
    },
  };
}
