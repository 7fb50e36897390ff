import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, context, ROOT_CONTEXT, type Span, type SpanContext, trace } from '@opentelemetry/api';
import { expect, onTestFinished, test } from 'vitest';
import { DONE } from '../src/index.ts';
import { ordersQueue } from './queues.ts';
import { messageOf, operator, setUp, takeFrom, until } from './support.ts';

interface Recorded {
  readonly name: string;
  readonly own: SpanContext;
  readonly parent: SpanContext | undefined;
}

/** The least that OpenTelemetry's API asks of an SDK: contexts that follow async calls, spans that know their parent. */
function registerTracing(): Recorded[] {
  const recorded: Recorded[] = [];
  const storage = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, fn, self, ...args) => storage.run(active, () => fn.apply(self, args)),
    bind: (_active, target) => target,
    enable: () => context.active() && Object.create(null),
    disable: () => Object.create(null),
  });
  const startSpan = (name: string, _options: unknown, from: Context = context.active()): Span => {
    const parent = trace.getSpanContext(from);
    const hex = () => crypto.randomUUID().replaceAll('-', '');
    const own = { traceId: parent?.traceId ?? hex(), spanId: hex().slice(0, 16), traceFlags: 1 };
    recorded.push({ name, own, parent });
    return trace.wrapSpanContext(own);
  };
  const startActiveSpan = () => {
    throw new Error('not used by mq');
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan }) });
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  return recorded;
}

test('the trace of the publisher goes on in the handler of its message', async () => {
  const recorded = registerTracing();
  const { broker } = await setUp();
  let inHandler: SpanContext | undefined;
  const handler = async () => {
    inHandler = trace.getSpanContext(context.active());
    return DONE;
  };
  broker.consume(ordersQueue, handler, { concurrency: 1 });
  const cause = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
  await context.with(trace.setSpanContext(ROOT_CONTEXT, cause), () => broker.publish(ordersQueue, [messageOf(1)]));
  await until(() => inHandler !== undefined);
  const [publish, process] = recorded;
  expect(publish).toMatchObject({ name: 'publish orders', parent: cause });
  expect(process).toMatchObject({ name: 'process orders', parent: { ...publish?.own, isRemote: true } });
  expect(inHandler).toEqual(process?.own);
});

test('without tracing a given traceparent is passed on unchanged and a malformed one is left out', async () => {
  const { broker, vhost } = await setUp();
  const traceparent = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
  await broker.publish(ordersQueue, [
    { ...messageOf(1), traceparent },
    { ...messageOf(2), traceparent: 'nonsense' },
    messageOf(3),
  ]);
  const connection = await operator(vhost);
  const headers = [];
  for (let taken = 0; taken < 3; taken++) {
    headers.push((await takeFrom(connection, 'orders')).properties.headers?.traceparent);
  }
  expect(headers).toEqual([traceparent, undefined, undefined]);
});
