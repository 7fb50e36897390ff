import { trace } from '@opentelemetry/api';
import { type Logger, type LoggerOptions, pino } from 'pino';
import { describeError } from './describe-error.ts';
import { prettyLine } from './log-pretty.ts';
import { redactText } from './redact.ts';

/** A pino logger. The message is a constant sentence, facts are keys: `log.warn({ queue, ms }, 'message came back')`. */
export type Log = Logger;

export type LogOptions = {
  readonly service: string;
  readonly level: string;
  readonly instance: string;
  /** Where finished lines go; standard output unless given. */
  readonly destination?: { write(line: string): void };
};

/**
 * The log of a process: one JSON object per line on standard output, or one line for people when that is a terminal.
 * Lines are written before the call returns, so that none is lost at exit. Errors (under any key) lose SQL parameters
 * and row values; members named like a secret, URL passwords and bearer tokens are redacted; `trace_id` and `span_id`
 * are added while a span is active.
 */
export function createLog({ service, level, instance, destination }: LogOptions): Log {
  const options: LoggerOptions = {
    level,
    base: { service, instance },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: activeTrace,
    serializers: { err: describeIfError },
    formatters: {
      level: (label) => ({ level: label }),
      log: describeErrors,
    },
    hooks: { logMethod: withSafeMessage, streamWrite: redactText },
  };
  return pino(options, destination ?? standardOutput());
}

function standardOutput(): { write(line: string): void } {
  const stdout = pino.destination({ fd: 1, sync: true });
  return process.stdout.isTTY ? { write: (line) => stdout.write(prettyLine(line)) } : stdout;
}

function activeTrace(): { trace_id?: string; span_id?: string } {
  const span = trace.getActiveSpan()?.spanContext();
  return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
}

function describeIfError(value: unknown): unknown {
  return value instanceof Error ? describeError(value) : value;
}

function describeErrors(facts: Record<string, unknown>): Record<string, unknown> {
  if (!Object.values(facts).some((value) => value instanceof Error)) return facts;
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [key, describeIfError(value)]));
}

/** pino takes the message of an error for a line that has none, and that message may hold SQL parameters. */
const withSafeMessage: NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> = function (args, method) {
  const [first, message] = args as unknown as [unknown, string | undefined];
  const error = first instanceof Error ? first : isRecord(first) ? first.err : undefined;
  if (message !== undefined || !(error instanceof Error)) return method.apply(this, args);
  const facts = first instanceof Error ? { err: first } : first;
  return method.apply(this, [facts, describeError(error).message] as unknown as typeof args);
};

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
