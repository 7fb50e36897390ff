import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { sleep } from '@dueline/kernel';
import { type Answer, headersOf, payloadOf } from '../api/exchange.ts';

interface Bytes {
  readonly head: Buffer;
  readonly body: Buffer;
}

/** An answer as it goes over the wire, on a connection that ends after it. */
export function bytesOf(answer: Answer, requestId: string): Bytes {
  const body = Buffer.from(payloadOf(answer));
  const headers = { ...headersOf(answer, requestId), 'content-length': String(body.length), connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n`;
  return { head: Buffer.from(`${status}${lines.join('')}\r\n`), body };
}

/** Breaks the answer off in the middle of its head or its body. */
export function truncate(socket: Socket, { head, body }: Bytes, part: 'head' | 'body'): void {
  const whole = Buffer.concat([head, body]);
  socket.end(whole.subarray(0, part === 'head' ? head.length >> 1 : head.length + (body.length >> 1)));
}

/** Writes a few bytes at a time, to the last or until the client goes. The connection is still to be ended. */
export async function drip(
  socket: Socket,
  { head, body }: Bytes,
  { part, bytes, everyMs, closing }: { part: 'head' | 'body'; bytes: number; everyMs: number; closing: AbortSignal },
): Promise<void> {
  const whole = Buffer.concat([head, body]);
  let sent = part === 'head' ? 0 : head.length;
  if (sent > 0) socket.write(head);
  for (;;) {
    socket.write(whole.subarray(sent, sent + bytes));
    sent += bytes;
    if (sent >= whole.length) return;
    await sleep(everyMs, closing);
    if (closing.aborted || !socket.writable) return;
  }
}

/** Ends when the client has gone, or the server has closed. */
export async function clientGone(socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}
