import {
  type Attributes,
  type Context,
  context,
  type Link,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { describeError, safeErrorText } from './describe-error.ts';

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

export type SpanOptions = {
  /** A W3C traceparent to continue; the active span unless given. One that cannot be read starts a new trace. */
  readonly parent?: string | undefined;
  /** Traceparents of what led to this without being its parent; those that cannot be read are left out. */
  readonly links?: readonly string[];
  /** `internal` unless given. */
  readonly kind?: keyof typeof KINDS;
  /** Ids and codes, never bodies, tokens or user text. */
  readonly attributes?: Attributes;
};

/** The active span as a W3C traceparent, to be stored or sent; undefined when nothing is traced. */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}

/** What `fn` gives, run inside a span that ends with it; an error is recorded on the span and thrown on. */
export async function withSpan<T>(
  name: string,
  { parent, links = [], kind = 'internal', attributes = {} }: SpanOptions,
  fn: (span: Span) => T | Promise<T>,
): Promise<T> {
  const around = parent === undefined ? context.active() : contextOf(parent);
  const options = { kind: KINDS[kind], attributes, links: links.flatMap(linkTo) };
  // asked for each time: a tracer that is kept stays with the first provider for ever
  return trace.getTracer('dueline').startActiveSpan(name, options, around, async (span) => {
    try {
      return await fn(span);
    } catch (error) {
      recordError(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

function recordError(span: Span, error: unknown): void {
  if (!span.isRecording()) return;
  const { name, message } = describeError(error);
  span.recordException({ name, message });
  span.setAttribute('error.type', name);
  span.setStatus({ code: SpanStatusCode.ERROR, message: safeErrorText(error) });
}

function contextOf(traceparent: string): Context {
  return propagation.extract(ROOT_CONTEXT, { traceparent });
}

function linkTo(traceparent: string): Link[] {
  const spanContext = trace.getSpanContext(contextOf(traceparent));
  return spanContext === undefined ? [] : [{ context: spanContext }];
}
