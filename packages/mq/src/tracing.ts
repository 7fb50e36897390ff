import {
  type Context,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The W3C header as a span context; undefined for anything that is not one. */
function parseTraceparent(value: unknown): SpanContext | undefined {
  const match = typeof value === 'string' ? TRACEPARENT.exec(value) : null;
  const [, traceId, spanId, flags] = match ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}

function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function parentFrom(traceparent: unknown, otherwise: Context): Context {
  const parsed = parseTraceparent(traceparent);
  return parsed === undefined ? otherwise : trace.setSpanContext(ROOT_CONTEXT, parsed);
}

// Asked for at each use: a tracer kept from before the SDK was registered, or from an earlier one, would stay silent.
const tracer = () => trace.getTracer('@dueline/mq');

const attributes = (queue: string, operation: string) => ({
  'messaging.system': 'rabbitmq',
  'messaging.destination.name': queue,
  'messaging.operation.name': operation,
});

/** A producer span for one message, and the header that carries it; no header when nobody traces. */
export function startPublishSpan(queue: string, traceparent: string | undefined) {
  const options = { kind: SpanKind.PRODUCER, attributes: attributes(queue, 'publish') };
  const span = tracer().startSpan(`publish ${queue}`, options, parentFrom(traceparent, context.active()));
  const carried = span.spanContext();
  return { span, headers: isSpanContextValid(carried) ? { traceparent: formatTraceparent(carried) } : {} };
}

/** Runs `work` inside a consumer span whose parent is the publisher's span. */
export async function inProcessSpan<T>(
  queue: string,
  traceparent: unknown,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const parent = parentFrom(traceparent, ROOT_CONTEXT);
  const options = { kind: SpanKind.CONSUMER, attributes: attributes(queue, 'process') };
  const span = tracer().startSpan(`process ${queue}`, options, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span));
  } finally {
    span.end();
  }
}

export function markFailed(span: Span, reason: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
}
