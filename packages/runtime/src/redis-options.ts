const CONNECT_TIMEOUT_MS = 2_000;
const RECONNECT = { stepMs: 100, maxMs: 2_000 };

/**
 * How a Redis client behaves for what can do without Redis: a command fails at once while there is no connection, and after `commandTimeoutMs`
 * at the latest; the connection is sought again at least every two seconds, for as long as the process lives.
 */
export const redisOptions = ({ commandTimeoutMs }: { commandTimeoutMs: number }) => ({
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: commandTimeoutMs,
  connectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: (tries: number): number => Math.min(tries * RECONNECT.stepMs, RECONNECT.maxMs),
});
