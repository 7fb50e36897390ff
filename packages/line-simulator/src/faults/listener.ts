import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';

export type ListenerState = 'up' | 'down' | 'blackHole';

/** The door of the API: open, shut (connections are refused), or a hole that takes connections and never reads them. */
export interface ListenerFault {
  /** @param ms Then it opens again, in real milliseconds; without it stays. */
  set(state: ListenerState, ms?: number): void;
  /** Ends when everything that was set has been done. */
  settled(): Promise<void>;
  /** Aborts when the simulator ends; no fault may hold that up. */
  readonly closing: AbortSignal;
  /** Opens the door for good, so that the server can close it itself. */
  close(): Promise<void>;
}

/** Where the door is, so that it opens again where it was. */
interface Place {
  readonly host: string;
  readonly port: number;
}

export function createListenerFault(server: HttpServer): ListenerFault {
  const closing = new AbortController();
  let door: { close(): Promise<void> } | undefined;
  let place: Place = { host: '127.0.0.1', port: 0 };
  let timer: NodeJS.Timeout | undefined;
  let work = Promise.resolve();

  const open = async (state: ListenerState): Promise<void> => {
    const address = server.address();
    if (address !== null && typeof address === 'object') place = { host: address.address, port: address.port };
    await door?.close();
    door = undefined;
    if (state === 'up') {
      if (!server.listening) await listening(server, place);
      return;
    }
    if (server.listening) await closed(server);
    if (state === 'blackHole') door = await openHole(place);
  };
  const set = (state: ListenerState, ms?: number): void => {
    clearTimeout(timer);
    work = work.then(() => open(state));
    if (ms !== undefined) timer = setTimeout(() => set('up'), ms).unref();
  };
  return {
    set,
    settled: () => work,
    closing: closing.signal,
    async close() {
      closing.abort();
      set('up');
      await work;
    },
  };
}

async function closed(server: HttpServer): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function openHole(place: Place): Promise<{ close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const hole = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  await listening(hole, place);
  return {
    async close() {
      await new Promise<void>((resolve) => {
        hole.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      });
    },
  };
}

async function listening(server: Server, place: Place): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(place, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
