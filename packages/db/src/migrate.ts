import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { PermanentError } from '@dueline/kernel';
import pg from 'pg';
import { applyMigration, type Migration } from './apply-migration.ts';
import { translateError } from './errors.ts';
import { applyPrivileges } from './privileges/apply.ts';

/** Any constant that nothing else in the database locks. */
const MIGRATION_LOCK = 7_205_759_403;
const FOLDER = new URL('../migrations/', import.meta.url);

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), 'utf8');
      return { name, sql: text, sha256: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

/** The files still to run, in order. Refuses a ledger that these files cannot have written. */
function pendingMigrations(
  files: readonly Migration[],
  ledger: readonly { name: string; sha256: string }[],
): Migration[] {
  for (const [at, entry] of ledger.entries()) {
    const file = files[at];
    if (file === undefined)
      throw new PermanentError('the database is newer than this code', { context: { migration: entry.name } });
    if (file.name !== entry.name) {
      throw new PermanentError('a migration was inserted or removed before one that ran', {
        context: { expected: entry.name, found: file.name },
      });
    }
    if (file.sha256 !== entry.sha256) {
      throw new PermanentError('a migration changed after it ran', { context: { migration: file.name } });
    }
  }
  return files.slice(ledger.length);
}

async function applyPending(client: pg.Client, folder: URL, log: (line: string) => void): Promise<string[]> {
  await client.query(`create table if not exists schema_migration (
    name text primary key, sha256 text not null, applied_at timestamptz not null default clock_timestamp())`);
  const ledger = await client.query<{ name: string; sha256: string }>(
    'select name, sha256 from schema_migration order by name collate "C"',
  );
  const pending = pendingMigrations(await readMigrations(folder), ledger.rows);
  for (const migration of pending) {
    await applyMigration(client, migration, log);
    log(`applied ${migration.name}`);
  }
  return pending.map(({ name }) => name);
}

/** Without roles the apps still work, as the owner: a server on which nobody but an administrator makes roles must not stop an upgrade. */
async function grantAsSaid(client: pg.Client, log: (line: string) => void): Promise<void> {
  try {
    const statements = await applyPrivileges(client);
    if (statements.length > 0) log(`roles of the apps: ${statements.length} rights changed`);
  } catch (error) {
    if (!(error instanceof PermanentError)) throw error;
    log(`apps have no roles of their own yet: ${error.message}`);
  }
}

/**
 * Brings the database to the schema of this code, and the roles of the apps to the rights of this code: every file of migrations/ that its ledger lacks, in order, each in its
 * own transaction together with its ledger entry. Of several starters one applies, the others wait and find nothing to do;
 * a run that was killed leaves whole files only, and the next one goes on. A file that cannot have its locks gives way and is tried again,
 * for minutes.
 *
 * @param options.url A direct connection, because the lock belongs to the session.
 * @returns The names of the files that this call applied.
 * @throws PermanentError when the ledger does not fit the files (newer database, changed or inserted file).
 * @throws TransientError when the database is not ready.
 */
export async function migrate(options: { url: string; log?: (line: string) => void; folder?: URL }): Promise<string[]> {
  const client = new pg.Client({
    connectionString: options.url,
    application_name: 'migrate',
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => undefined); // the statement in hand rejects with the same error
  const log = options.log ?? (() => undefined);
  try {
    await client.connect();
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const applied = await applyPending(client, options.folder ?? FOLDER, log);
    if (options.folder === undefined) await grantAsSaid(client, log);
    return applied;
  } catch (error) {
    throw translateError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Names of migrations that this code has and the database lacks; empty when the schema is there. For readiness checks. */
export async function missingMigrations(pool: pg.Pool): Promise<string[]> {
  const files = await readMigrations(FOLDER);
  const table = await pool.query<{ exists: boolean }>(`select to_regclass('schema_migration') is not null as exists`);
  if (!table.rows[0]?.exists) return files.map(({ name }) => name);
  const ledger = await pool.query<{ name: string }>('select name from schema_migration');
  const applied = new Set(ledger.rows.map(({ name }) => name));
  return files.map(({ name }) => name).filter((name) => !applied.has(name));
}
