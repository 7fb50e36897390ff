import { TransientError } from '@dueline/kernel';
import { DrizzleQueryError } from 'drizzle-orm';

/** SQLSTATE classes and codes after which the same statement may succeed. Source: PostgreSQL manual, appendix A. */
const TRANSIENT_STATES = /^(08...|40001|40P01|53...|55P03|57014|57P0[1-5]|25006|25P03)$/; // connection, serialization, deadlock, resources, locks, shutdown

/** Codes of Node's sockets and resolver that say that the server was not reached or went away. */
const TRANSIENT_SOCKET = /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

/** Texts of pg for which it gives no code. */
const LOST_CONNECTION =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client was closed|Client has encountered a connection error)/;

/** The error under drizzle's wrapper, whose own message carries the SQL and every parameter. */
function databaseCause(error: unknown): unknown {
  return error instanceof DrizzleQueryError && error.cause !== undefined ? error.cause : error;
}

/** SQLSTATE or socket code of an error, wrapped or not; undefined when it has none. */
export function errorCode(error: unknown): string | undefined {
  const cause = databaseCause(error);
  return cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined;
}

/**
 * What a caller should see of a database error: a {@link TransientError} when trying again may work, else the cause
 * itself; never drizzle's wrapper, because its message carries parameters.
 */
export function translateError(error: unknown): unknown {
  const cause = databaseCause(error);
  const code = errorCode(cause);
  if (code !== undefined && (TRANSIENT_STATES.test(code) || TRANSIENT_SOCKET.test(code))) {
    return new TransientError('database not ready', { cause, context: { code } });
  }
  if (cause instanceof Error && LOST_CONNECTION.test(cause.message)) {
    return new TransientError('database connection lost', { cause });
  }
  return cause;
}

const STATEMENT_TIMEOUT = '57014';

/**
 * Whether the database ended a statement because it took too long. Transient like an outage, but the database is there: what takes too long whenever
 * it is tried, by itself too, is at fault itself.
 */
export const tookTooLong = (error: unknown): boolean =>
  error instanceof TransientError && error.context.code === STATEMENT_TIMEOUT;
