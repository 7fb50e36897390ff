import { context, propagation, trace } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { safeErrorText } from './describe-error.ts';
import type { Log } from './log.ts';
import { within } from './within.ts';

export type TracingOptions = {
  readonly service: string;
  /** Base address of an OTLP/HTTP collector; spans go to `<endpoint>/v1/traces`. Without it nothing is traced. */
  readonly endpoint?: string | undefined;
  readonly instance: string;
  /** Told once when the collector stops taking spans and once when it takes them again. */
  readonly log?: Log;
};

const FLUSH_MS = 2_000;

/**
 * Starts to export spans, in batches and in the background; without an endpoint not even the SDK is loaded.
 *
 * @returns How to stop: sends what is left, within two seconds, and never throws.
 */
export async function startTracing(options: TracingOptions): Promise<() => Promise<void>> {
  const { service, endpoint, instance, log } = options;
  if (endpoint === undefined) return async () => {};

  const [sdk, otlp, hooks, core, resources] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
  ]);
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = reporting(new otlp.OTLPTraceExporter({ url, timeoutMillis: FLUSH_MS }), log);
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': service, 'service.instance.id': instance }),
    // SDK 3 takes an options object here; an exporter passed bare is accepted and exports nothing.
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, exportTimeoutMillis: FLUSH_MS })],
  });
  context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);

  return async () => {
    try {
      await within(FLUSH_MS, provider.shutdown());
    } catch (error) {
      log?.warn({ err: error }, 'the last spans could not be sent');
    }
    for (const api of [trace, context, propagation]) api.disable();
  };
}

/** The SDK swallows failed exports; this tells the log when they begin and when they end. */
function reporting(exporter: SpanExporter, log: Log | undefined): SpanExporter {
  let failing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== 0;
        if (failed && !failing) {
          log?.warn({ reason: safeErrorText(result.error ?? 'no reason given') }, 'the collector does not take spans');
        }
        if (!failed && failing) log?.info('the collector takes spans again');
        failing = failed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
