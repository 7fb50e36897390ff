/** What kind of failure an error is; decides what a consumer does with the message. */
export type FailureKind = 'transient' | 'permanent' | 'poison';

/** Facts for the log line of an error: ids and codes, never bodies, tokens or user text. */
export type ErrorContext = Readonly<Record<string, string | number | boolean | null>>;

/** Root of the errors that we throw on purpose. The message is lower case and without values; values go to `context`. */
export class ServiceError extends Error {
  readonly context: ErrorContext;

  constructor(message: string, { cause, context = {} }: { cause?: unknown; context?: ErrorContext } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.context = context;
  }
}

/** The world was not ready: a lost connection, a deadlock, HTTP 429 or 5xx. Trying again may work. */
export class TransientError extends ServiceError {
  /** Wait the other side asked for, in milliseconds; absent when it gave none. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: { cause?: unknown; context?: ErrorContext; retryAfterMs?: number | undefined } = {},
  ) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Understood, but never possible: a revoked token, a message that LINE refuses. Trying again cannot help. */
export class PermanentError extends ServiceError {}

/** A message body that breaks its contract. It dead-letters at once and raises an alert. */
export class PoisonError extends ServiceError {}

/** Unknown errors count as transient: a bug may be fixed by a deploy, and the caller's limit bounds the cost. */
export function failureKind(error: unknown): FailureKind {
  if (error instanceof PoisonError) return 'poison';
  if (error instanceof PermanentError) return 'permanent';
  return 'transient';
}
