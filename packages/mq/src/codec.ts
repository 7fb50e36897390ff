import { randomUUID } from 'node:crypto';
import { type Envelope, envelope, type Queue } from '@dueline/contracts';
import type { ConsumeMessage } from 'amqplib';
import type { IncomingMessage, OutgoingMessage } from './types.ts';

/** Bytes of a body. Brokers differ (16 to 128 MiB); messages carry tickets, so anything larger is a mistake. */
export const MAX_BODY_BYTES = 64 * 1024;

/** The body of a new message. */
export function encode<Data>(
  queue: Queue<Data>,
  { tenant, data }: OutgoingMessage<Data>,
  source: string,
): { id: string; content: Buffer } {
  const id = randomUUID();
  if (queue.tick !== undefined) return { id, content: Buffer.alloc(0) };
  const publishedAt = new Date().toISOString();
  const body: Envelope = { id, type: queue.name, version: queue.version, publishedAt, source, tenant, data };
  return { id, content: Buffer.from(JSON.stringify(body)) };
}

export type Decoded<Data> =
  | { readonly kind: 'message'; readonly message: IncomingMessage<Data> }
  | { readonly kind: 'later'; readonly id: string; readonly version: number; readonly publishedAt: string }
  | { readonly kind: 'poison'; readonly reason: string };

/** The message of a tick: empty, of no tenant, outside the envelope. */
export const TICK: OutgoingMessage<null> = { tenant: { organizationId: '0', lineOaId: '0' }, data: null };

/** Reads a delivery of `queue`. Never throws; reasons name fields and rules, never values. */
export function decode<Data>(queue: Queue<Data>, { content, properties }: ConsumeMessage): Decoded<Data> {
  if (queue.tick !== undefined) return decodeTick(queue, { content, properties });
  const json = parseJson(content);
  if (json === undefined) return { kind: 'poison', reason: 'body is not JSON' };
  const outer = envelope.safeParse(json);
  if (!outer.success) return { kind: 'poison', reason: `envelope: ${issues(outer.error)}` };
  const { id, type, version, tenant, publishedAt, data } = outer.data;
  if (type !== queue.name) return { kind: 'poison', reason: 'message is of another type than its queue' };
  if (version > queue.version) return { kind: 'later', id, version, publishedAt };
  const inner = queue.data.safeParse(data);
  if (!inner.success) return { kind: 'poison', reason: `data: ${issues(inner.error)}` };
  const deliveryCount = countOf(properties.headers?.['x-delivery-count']);
  return { kind: 'message', message: { id, tenant, data: inner.data, deliveryCount, publishedAt } };
}

function decodeTick<Data>(
  queue: Queue<Data>,
  { content, properties }: Pick<ConsumeMessage, 'content' | 'properties'>,
): Decoded<Data> {
  const inner = queue.data.safeParse(TICK.data);
  if (content.length > 0 || !inner.success) return { kind: 'poison', reason: 'a tick is empty' };
  const published = new Date(Number(properties.timestamp ?? 0) * 1_000);
  if (Number.isNaN(published.getTime())) return { kind: 'poison', reason: 'a tick is of no time that there is' };
  const publishedAt = published.toISOString();
  const deliveryCount = countOf(properties.headers?.['x-delivery-count']);
  const id = String(properties.messageId);
  return { kind: 'message', message: { id, tenant: TICK.tenant, data: inner.data, deliveryCount, publishedAt } };
}

function parseJson(content: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
    return value;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined; // not JSON, not UTF-8
    throw error;
  }
}

interface Issues {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly code?: string | undefined }[];
}

const issues = (error: Issues): string =>
  error.issues
    .slice(0, 3)
    .map(({ path, code }) => `${path.map(String).join('.') || 'body'} ${code ?? 'invalid'}`)
    .join(', ');

const countOf = (header: unknown): number => (Number.isSafeInteger(header) ? Math.max(0, Number(header)) : 0);
