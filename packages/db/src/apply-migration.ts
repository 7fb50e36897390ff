import { fullJitterMs, sleep } from '@dueline/kernel';
import type pg from 'pg';

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
}

/** First line of a file that cannot run in a transaction, such as CREATE INDEX CONCURRENTLY. */
const WITHOUT_TRANSACTION = '-- no transaction';
/** How long a migration stands in the queue for a lock: whoever wants the table meanwhile waits behind it. */
const LOCK_TIMEOUT_MS = 2_000;
/** Several minutes of such tries: longer than any statement of ours, shorter than the Job that migrates. */
const TRIES = 60;
const PAUSE = { baseMs: 500, capMs: 5_000 };
/** The lock was not to be had in time, or only by letting somebody else's transaction die. */
const BUSY: readonly unknown[] = ['55P03', '40P01'];

/**
 * Runs a migration and writes it into the ledger, both or neither. Where processes are at work it gives way: a lock that it
 * does not get within two seconds it asks for again later, so that nobody waits for a migration that waits.
 */
export async function applyMigration(
  client: pg.Client,
  migration: Migration,
  log: (line: string) => void,
): Promise<void> {
  if (migration.sql.startsWith(WITHOUT_TRANSACTION)) {
    await client.query(migration.sql);
    await record(client, migration);
    return;
  }
  for (let tries = 1; ; tries += 1) {
    try {
      await inOneTransaction(client, migration);
      return;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (!BUSY.includes(code) || tries >= TRIES) throw error;
      log(`${migration.name} gave way to who holds its tables, and tries again`);
      await sleep(fullJitterMs(tries, PAUSE));
    }
  }
}

const record = (client: pg.Client, { name, sha256 }: Migration) =>
  client.query('insert into schema_migration (name, sha256) values ($1, $2)', [name, sha256]);

async function inOneTransaction(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(migration.sql);
    await record(client, migration);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
