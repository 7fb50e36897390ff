import { PermanentError } from '@dueline/kernel';
import type pg from 'pg';
import { errorCode } from '../errors.ts';
import { APPS_WITH_ROLES, type AppWithRole } from './table.ts';

/** What a tenant-scoped handle takes on for its transaction (`inTenant`): sees and writes one account. */
const TENANT_ROLE = 'dueline_tenant';
/** The role that holds the rights of an app; nobody logs in as it: its login is a member. */
export const roleOf = (app: AppWithRole): string => `dueline_${app.replaceAll('-', '_')}`;

export const APP_ROLES: readonly string[] = APPS_WITH_ROLES.map(roleOf);
const ROLES = [TENANT_ROLE, ...APP_ROLES];

/** Only people's commands take on the tenant role. */
const MEMBERSHIP = `grant ${TENANT_ROLE} to ${roleOf('ops')}`;

/** From 16 on a membership keeps what held when it was granted, so it is granted again. */
const DISINHERIT = [`alter role ${roleOf('ops')} noinherit`, `revoke ${TENANT_ROLE} from ${roleOf('ops')}`];

/** Without inheritance, so that ops has the rights of the tenant role within its tenant, for as long as it has taken it on. */
const createRole = (role: string): string => `create role ${role} nologin noinherit`;

/**
 * The statements by which somebody who may create roles prepares a server for an owner of the schema who may not; a login for each app
 * among them, as a comment, for passwords of one's own.
 *
 * @param owner Who migrates.
 */
export function rolesAsSql(owner: string): string[] {
  return [
    '-- Once for a server, by a role that may create roles. Roles are of the whole server, whatever its databases.',
    ...ROLES.map((role) => `${createRole(role)};`),
    `${MEMBERSHIP};`,
    '-- Who migrates hands the tenant role on to itself, in each new database.',
    `grant ${TENANT_ROLE} to "${owner.replaceAll('"', '""')}" with admin option;`,
    '-- A login for each app, with a password of its own; names that begin with pg_ are reserved:',
    ...APPS_WITH_ROLES.map((app) => `-- create role "${app}" login password '…' in role ${roleOf(app)};`),
  ];
}

/** Somebody else, in another database of the server, did the same at the same moment. */
const ALREADY_DONE = ['42710', '23505', 'XX000'];
const INSUFFICIENT_PRIVILEGE = '42501';
const ROUNDS = 5;

/**
 * Makes the roles and memberships that the server lacks; repeats change nothing, and any number of starters may do it at once.
 *
 * @throws PermanentError when some are missing and this login may not make them: says which, and how to get the statements.
 */
export async function createRoles(client: pg.ClientBase): Promise<void> {
  let missing = await missingRoles(client);
  for (let round = 1; missing.length > 0; round += 1) {
    for (const statement of missing) await unlessDone(client, statement);
    missing = await missingRoles(client);
    if (round === ROUNDS) throw new PermanentError(`the server does not take: ${missing.join('; ')}`);
  }
}

async function unlessDone(client: pg.ClientBase, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (cause) {
    const code = errorCode(cause);
    if (code === INSUFFICIENT_PRIVILEGE)
      throw new PermanentError(
        `roles are missing and this login may not make them (${statement}): have an administrator run what \`dueline roles --sql\` prints`,
        { cause },
      );
    if (code === undefined || !ALREADY_DONE.includes(code)) throw cause;
  }
}

/** The statements that would make the roles and memberships that are missing. */
export async function missingRoles(client: pg.ClientBase): Promise<string[]> {
  const roles = await client.query<{ rolname: string }>('select rolname from pg_roles where rolname = any($1)', [
    ROLES,
  ]);
  const members = await client.query<{ inherits: boolean }>(
    `select pg_has_role(member.oid, role.oid, 'usage') as inherits
       from pg_auth_members join pg_roles as role on role.oid = roleid join pg_roles as member on member.oid = member
      where role.rolname = $1 and member.rolname = $2`,
    [TENANT_ROLE, roleOf('ops')],
  );
  const there = new Set(roles.rows.map(({ rolname }) => rolname));
  const [membership] = members.rows;
  return [
    ...ROLES.filter((role) => !there.has(role)).map(createRole),
    ...(membership?.inherits ? DISINHERIT : []),
    ...(membership === undefined || membership.inherits ? [MEMBERSHIP] : []),
  ];
}
