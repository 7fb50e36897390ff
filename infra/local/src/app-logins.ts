import { randomBytes } from 'node:crypto';
import { APPS_WITH_ROLES, type AppWithRole, makeLogins } from '@dueline/db';
import pg from 'pg';

/** By what an app logs in, at the database and at the broker. */
export interface AppLogin {
  readonly user: string;
  readonly password: string;
}
export type AppLogins = Readonly<Record<AppWithRole, AppLogin>>;

/** Names and passwords that nobody else has. @param prefix Begins the names; lower case, digits and underscores. */
export const newAppLogins = (prefix: string): AppLogins =>
  Object.fromEntries(
    APPS_WITH_ROLES.map((app) => [
      app,
      { user: `${prefix}_${app.replaceAll('-', '_')}`, password: randomBytes(12).toString('hex') },
    ]),
  ) as Record<AppWithRole, AppLogin>;

/** The same address for somebody else. */
export function asLogin(url: string, { user, password }: AppLogin): string {
  const target = new URL(url);
  target.username = user;
  target.password = password;
  return target.href;
}

/** Lets the apps log in at a PostgreSQL server, each with the rights of its role and no others; makes the roles where they are missing. */
export const addDatabaseLogins = (url: string, logins: AppLogins): Promise<void> =>
  makeLogins({ url, logins: APPS_WITH_ROLES.map((app) => ({ app, ...logins[app] })) });

/** Ends what {@link addDatabaseLogins} made, but for the roles, which belong to the server. */
export const removeDatabaseLogins = (url: string, logins: AppLogins): Promise<void> =>
  onServer(
    url,
    APPS_WITH_ROLES.map((app) => `drop role if exists ${logins[app].user}`),
  );

async function onServer(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statements.join(';\n'));
  } finally {
    await client.end();
  }
}
