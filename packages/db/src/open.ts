import type { SQL } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { beginWithFirst } from './begin.ts';
import { errorCode, translateError } from './errors.ts';
import { prepareByText } from './prepare.ts';

/** The pool. Each statement on it is a transaction of its own. */
export type Db = NodePgDatabase & { readonly $client: pg.Pool };

/** An open transaction. What must be atomic with something else takes this, so that the compiler refuses the pool. */
export type Tx = Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0];

export interface Database {
  readonly db: Db;
  /** Opens up to `count` connections ahead of need; what cannot be opened now is opened when it is needed. */
  warmUp(count: number): Promise<void>;
  /** Answers when the database does; throws {@link TransientError} otherwise. */
  ping(): Promise<void>;
  /** Waits for statements in hand and ends the pool's connections. */
  close(): Promise<void>;
}

/** Ends a statement, or a transaction that idles, after this many milliseconds, so that no lock outlives its reason. */
export const STATEMENT_TIMEOUT_MS = 10_000;

/**
 * One plan for each statement, made once, that goes by an index. What has none seems so dear then that PostgreSQL would compile it first.
 */
const BY_INDEX = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off';
const UNSAVED = '-c synchronous_commit=off';

/** Keeps idle connections for five minutes: a new one costs a handshake and cold catalogues, and so milliseconds of lateness. */
const IDLE_CONNECTION_MS = 300_000;

/**
 * Opens a pool. Connects lazily; errors of idle connections go to `onError` and never end the process.
 *
 * @param options.maxConnections Connections of this process, 1 or more.
 * @param options.statementTimeoutMs {@link STATEMENT_TIMEOUT_MS} unless given; more only for what no worker waits for.
 * @param options.readsByIndex For those who take work from queues, and have an index for whatever they ask: a statement is planned once, for any
 *   number of rows, and never reads a whole table that it can read by an index. Otherwise a plan is kept from when the queue was nearly empty,
 *   and reads all of it when it has grown, or the statement is planned each time it runs.
 * @param options.commitsUnsaved For those whose last commits may be forgotten when the server dies, because they do again what they forgot: a commit
 *   does not wait for the disk.
 */
export function openDatabase(options: {
  url: string;
  applicationName: string;
  maxConnections: number;
  onError: (error: unknown) => void;
  statementTimeoutMs?: number;
  readsByIndex?: boolean;
  commitsUnsaved?: boolean;
}): Database {
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS, readsByIndex = false, commitsUnsaved = false } = options;
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: 5_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: statementTimeoutMs + 5_000, // a server that stopped answering cannot end the statement itself
    options: ['-c timezone=UTC', readsByIndex ? BY_INDEX : '', commitsUnsaved ? UNSAVED : ''].join(' '),
    keepAlive: true,
    idleTimeoutMillis: IDLE_CONNECTION_MS,
  });
  // A client that breaks between two statements of a transaction emits on itself, not on the pool: unheard, it ends the process.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    beginWithFirst(client);
    prepareByText(client);
  });
  pool.on('error', options.onError);
  return {
    db: withTranslatedErrors(drizzle({ client: pool })),
    ping: async () => {
      try {
        await pool.query('select 1');
      } catch (error) {
        throw translateError(error);
      }
    },
    warmUp: async (count) => {
      const opened = await Promise.allSettled(Array.from({ length: count }, () => pool.connect()));
      for (const connection of opened) if (connection.status === 'fulfilled') connection.value.release();
    },
    close: () => pool.end(),
  };
}

/** Single statements throw what {@link inTransaction} throws: consumers tell a database that is away from a bug by it. */
function withTranslatedErrors(db: Db): Db {
  const execute = db.execute.bind(db);
  const translated = async (query: SQL) => {
    try {
      return await execute(query);
    } catch (error) {
      throw translateError(error);
    }
  };
  return Object.assign(db, { execute: translated as unknown as Db['execute'] });
}

const DEADLOCK = '40P01';
const SERIALIZATION_FAILURE = '40001';
const TRIES = 4;

/**
 * Runs `work` in one transaction (READ COMMITTED) and commits. A deadlock or serialization failure rolls back and runs it
 * again, at most three times, so `work` must have no effect but on rows.
 *
 * @throws TransientError when the database was not ready; whatever `work` throws otherwise.
 */
export async function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await transact(db, work);
    } catch (error) {
      const code = errorCode(error);
      if ((code !== DEADLOCK && code !== SERIALIZATION_FAILURE) || tries === TRIES) throw translateError(error);
    }
  }
}

/**
 * One transaction on a connection of its own. Not drizzle's on the pool: when BEGIN fails, that one never gives the connection
 * back, and when ROLLBACK fails too, its error hides the one that mattered.
 */
async function transact<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const client = await db.$client.connect();
  let thrown: { error: unknown } | undefined;
  let isBroken = false;
  try {
    return await drizzle({ client }).transaction(async (tx) => {
      try {
        return await work(tx);
      } catch (error) {
        thrown = { error };
        throw error;
      }
    });
  } catch (error) {
    isBroken = error !== thrown?.error; // BEGIN, COMMIT or ROLLBACK failed: nobody knows in what state the session is
    throw thrown === undefined ? error : thrown.error;
  } finally {
    client.release(isBroken);
  }
}
