import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { type Database, type Db, openDatabase } from './open.ts';
import type { AppWithRole } from './privileges/table.ts';
import { installTimeMachine } from './time-machine.ts';

export { endsOr, IS_AT_GATE, IS_BLOCKED, isTrue, lockWaiters, withGate } from './testing-races.ts';
export { columnOf, guardedMoves, insertRow, insertTenant, insertUsers, lineUserId } from './testing-rows.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string;
    templateDatabase: string;
    appLogins: Readonly<Record<string, { readonly user: string; readonly password: string }>>;
  }
}

export interface TestDb extends AsyncDisposable {
  readonly db: Db;
  readonly url: string;
  /** The same database for an app, with the rights of its role. */
  readonly urlOf: (app: AppWithRole) => string;
  /** It, opened so; closed with this one. */
  readonly as: (app: AppWithRole) => Db;
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A database of its own for one test, cloned from the migrated template (or empty); dropped when it is disposed of. */
export async function testDb({ empty = false }: { empty?: boolean } = {}): Promise<TestDb> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const template = empty ? 'template0' : inject('templateDatabase');
  await administer(`create database ${name} template ${template} strategy file_copy`);
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${name}`;
  const opened: Database[] = [];
  const open = (as: string): Db => {
    const database = openDatabase({
      url: as,
      applicationName: 'test',
      maxConnections: 24,
      onError: () => undefined, // a test that kills its connections means to
    });
    opened.push(database);
    return database.db;
  };
  const urlOf = (app: AppWithRole): string => {
    const { user = '', password = '' } = inject('appLogins')[app] ?? {};
    return Object.assign(new URL(url), { username: user, password }).href;
  };
  return {
    db: open(url.href),
    url: url.href,
    urlOf,
    as: (app) => open(urlOf(app)),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map((database) => database.close()));
      await administer(`drop database ${name} with (force)`);
    },
  };
}

/** Moves product time of a test database ahead, without asking what is under way. */
export async function moveProductTime(db: Db, seconds: number): Promise<void> {
  await installTimeMachine(db);
  await db.$client.query('update product_time_offset set ahead = ahead + make_interval(secs => $1)', [seconds]);
}
