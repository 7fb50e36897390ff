export { fullJitterMs } from './backoff.ts';
export { chunk, groupBy } from './collections.ts';
export {
  type ErrorContext,
  type FailureKind,
  failureKind,
  PermanentError,
  PoisonError,
  ServiceError,
  TransientError,
} from './errors.ts';
export { errorText, storableText } from './text.ts';
export { MAX_TIMER_MS, sleep } from './time.ts';
export { newToken, tokenDigest } from './token.ts';
