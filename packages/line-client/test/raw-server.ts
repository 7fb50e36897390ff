import { createServer, type Server, type Socket } from 'node:net';

export type Play = (socket: Socket, request: string) => void;

/** A raw server that hands each whole request to `play`; the transport is the thing under test, so no HTTP library. */
export async function rawServer(
  play: Play,
): Promise<{ url: string; requests: string[]; connections: () => number; close: () => void }> {
  const requests: string[] = [];
  let connections = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let seen = '';
    socket.on('data', (data) => {
      seen += data.toString('utf8');
      const head = seen.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(seen)?.[1] ?? 0);
      if (head < 0 || seen.length < head + 4 + length) return;
      const request = seen;
      seen = '';
      requests.push(request);
      play(socket, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('server has no port');
  return { url: `http://127.0.0.1:${address.port}`, requests, connections: () => connections, close };
}

interface Answer {
  status: number;
  body?: string;
  headers?: Record<string, string>;
  /** Bytes promised beyond those sent. */
  missing?: number;
}

/** Plays one HTTP answer, byte by byte as told. */
export function answer({ status, body = '', headers = {}, missing = 0 }: Answer): Play {
  const lines = Object.entries({
    'content-type': 'application/json',
    'x-line-request-id': 'req-1',
    'content-length': String(Buffer.byteLength(body) + missing),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return (socket) => {
    socket.write(`HTTP/1.1 ${status} Whatever\r\n${lines.join('')}\r\n${body}`);
    if (missing > 0) socket.end();
  };
}
