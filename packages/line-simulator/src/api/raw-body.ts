import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { RawBody } from './exchange.ts';

const MAX_BODY_BYTES = 2 * 1_024 * 1_024;

/**
 * Reads the body as bytes. One that is too large is read to its end and dropped: closing early would reset the
 * connection before the client has seen the 413.
 */
export function collectBody(
  _request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: null, body: RawBody) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  payload.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  });
  payload.on('end', () => done(null, size > MAX_BODY_BYTES ? 'tooLarge' : joined(chunks)));
  // A client that goes away before the end gets no answer, and the request stays without a status in the ledger.
}

function joined(chunks: readonly Buffer[]): Buffer | undefined {
  return chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
}
