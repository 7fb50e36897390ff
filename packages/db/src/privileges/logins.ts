import { randomBytes } from 'node:crypto';
import { PermanentError } from '@dueline/kernel';
import pg from 'pg';
import { errorCode } from '../errors.ts';
import { onConnection } from './connection.ts';
import { APP_ROLES, createRoles, roleOf } from './roles.ts';
import { scramVerifier } from './scram.ts';
import type { AppWithRole } from './table.ts';

/** By what an app logs in at the database. */
export interface DatabaseLogin {
  readonly app: AppWithRole;
  readonly user: string;
  readonly password: string;
}

/** A role that is there, by what makes it no login of an app. */
interface Present {
  readonly name: string;
  readonly isMighty: boolean;
  /** Roles it is a member of. */
  readonly roles: readonly string[];
}

const INSUFFICIENT_PRIVILEGE = '42501';
const SALT_BYTES = 16;

/**
 * Makes the logins of apps, each a member of its app's role and of no other; one that is there gets this password. All of them or none.
 * Makes the roles first. Repeats change nothing.
 *
 * @param options.url Any database of the server, as somebody who may create roles.
 * @throws PermanentError when a name belongs to somebody who may do more than the app, or this login may make none.
 */
export const makeLogins = (options: { url: string; logins: readonly DatabaseLogin[] }): Promise<void> =>
  onConnection(options.url, async (client) => {
    await createRoles(client);
    const present = await presentAmong(client, options.logins);
    const statements = options.logins.flatMap((login) => statementsFor(login, present.get(login.user)));
    if (statements.length > 0) await runAll(client, statements);
  });

async function presentAmong(
  client: pg.ClientBase,
  logins: readonly DatabaseLogin[],
): Promise<ReadonlyMap<string, Present>> {
  const { rows } = await client.query<Present>(
    `select rolname as name,
            rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
              or rolname = any($2) or rolname = current_user as "isMighty",
            array(select rolname::text from pg_auth_members join pg_roles as role on role.oid = roleid where member = present.oid) as roles
       from pg_roles as present where rolname = any($1)`,
    [logins.map(({ user }) => user), APP_ROLES],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

function statementsFor({ app, user, password }: DatabaseLogin, present: Present | undefined): string[] {
  const name = pg.escapeIdentifier(user);
  const secret = pg.escapeLiteral(scramVerifier(password, randomBytes(SALT_BYTES)));
  const role = roleOf(app);
  if (present === undefined) return [`create role ${name} login password ${secret} in role ${role}`];
  if (present.isMighty || present.roles.some((one) => !APP_ROLES.includes(one)))
    throw new PermanentError(`"${user}" may do more at the database than ${app} shall: give ${app} a login of its own`);
  const surplus = present.roles.filter((one) => one !== role);
  return [
    `alter role ${name} login password ${secret}`,
    ...(present.roles.includes(role) ? [] : [`grant ${role} to ${name}`]),
    ...surplus.map((one) => `revoke ${one} from ${name}`),
  ];
}

async function runAll(client: pg.ClientBase, statements: readonly string[]): Promise<void> {
  try {
    await client.query(['begin', ...statements, 'commit'].join(';\n'));
  } catch (cause) {
    if (errorCode(cause) !== INSUFFICIENT_PRIVILEGE) throw cause;
    throw new PermanentError('this login may not make logins of apps: it lacks CREATEROLE, or others made them', {
      cause,
    });
  }
}
