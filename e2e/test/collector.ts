import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as an OTLP collector receives it. */
export interface Span {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  /** Ids of spans that led to it without being its parent. */
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, string | undefined>>;
}

type Attributes = { key: string; value: { stringValue?: string } }[];
type Export = {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: {
      spans: {
        name: string;
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        links?: { spanId: string }[];
        attributes?: Attributes;
      }[];
    }[];
  }[];
};

/** An OTLP/HTTP collector that keeps what it is sent. */
export async function startCollector(): Promise<{ url: string; spans: Span[]; close: () => Promise<void> }> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      spans.push(...readSpans(JSON.parse(Buffer.concat(chunks).toString('utf8'))));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const readSpans = ({ resourceSpans }: Export): Span[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId, links = [], attributes = [] }) => ({
        ...{ service, name, traceId, spanId, parentSpanId },
        links: links.map((link) => link.spanId),
        attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])),
      })),
    );
  });
