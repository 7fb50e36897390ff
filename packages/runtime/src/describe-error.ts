import { type ErrorContext, ServiceError, storableText } from '@dueline/kernel';
import { redactText } from './redact.ts';

/** An error as it may be logged: no SQL parameters, no row values (`detail`), no passwords. */
export type DescribedError = {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly constraint?: string;
  readonly context?: ErrorContext;
  /** The frames only; absent for errors that we throw on purpose. */
  readonly stack?: string;
  readonly cause?: DescribedError;
  /** The first failures of an AggregateError. */
  readonly errors?: readonly DescribedError[];
};

const MAX_CAUSES = 5;
const MAX_ERRORS = 3;

/** Describes anything that was thrown. A failed query is told by its cause: its own message holds the parameters. */
export function describeError(thrown: unknown, depth = 0): DescribedError {
  if (!(thrown instanceof Error)) return { name: 'NotAnError', message: redactText(storableText(textOf(thrown))) };
  if (isQueryError(thrown)) {
    return thrown.cause === undefined || depth >= MAX_CAUSES
      ? { name: thrown.name, message: 'a query failed' }
      : describeError(thrown.cause, depth + 1);
  }

  const code = ownText(thrown, 'code');
  const constraint = ownText(thrown, 'constraint');
  const ours = thrown instanceof ServiceError;
  const frames = ours ? undefined : framesOf(thrown);
  return {
    name: thrown.name,
    message: redactText(storableText(thrown.message)),
    ...(code === undefined ? {} : { code }),
    ...(constraint === undefined ? {} : { constraint }),
    ...(ours && Object.keys(thrown.context).length > 0 ? { context: thrown.context } : {}),
    ...(frames === undefined ? {} : { stack: frames }),
    ...nested(thrown, depth),
  };
}

/** One line for a health answer or a span: the names and messages of the error and its causes, without parameters. */
export function safeErrorText(thrown: unknown): string {
  const described = describeError(thrown);
  const first = described.message === '' ? described.errors?.[0]?.message : described.message;
  const own = `${described.name}: ${first ?? described.code ?? ''}`;
  return described.cause === undefined ? own : `${own} (${described.cause.name}: ${described.cause.message})`;
}

function nested(error: Error, depth: number): Pick<DescribedError, 'cause' | 'errors'> {
  if (depth >= MAX_CAUSES) return {};
  const errors = error instanceof AggregateError ? error.errors.slice(0, MAX_ERRORS) : [];
  return {
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause, depth + 1) }),
    ...(errors.length === 0 ? {} : { errors: errors.map((item) => describeError(item, depth + 1)) }),
  };
}

function isQueryError(error: Error): boolean {
  return error.name === 'DrizzleQueryError' || Object.hasOwn(error, 'query') || Object.hasOwn(error, 'params');
}

function ownText(error: Error, key: 'code' | 'constraint'): string | undefined {
  const value: unknown = Reflect.get(error, key);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

/** The first line of a stack repeats the message, whose parameters are the reason for this file. */
function framesOf(error: Error): string | undefined {
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at .*:\d+:\d+\)?$/.test(line));
  return frames.length === 0 ? undefined : frames.slice(0, 12).join('\n');
}

function textOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  return `an object of type ${thrown.constructor?.name ?? 'null prototype'} was thrown`;
}
