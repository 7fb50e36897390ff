import type pg from 'pg';
import { errorCode } from '../errors.ts';
import { onConnection } from './connection.ts';
import { APP_ROLES, createRoles, missingRoles, roleOf } from './roles.ts';
import { APPS_WITH_ROLES, EXECUTES, PRIVILEGES, type Rights } from './table.ts';

/** One right of one role: to a table, to a column of it, or to call a function. */
interface Grant {
  readonly role: string;
  readonly right: string;
  /** As it stands behind ON. */
  readonly object: string;
  /** Empty: all columns. */
  readonly column: string;
}

const keyOf = ({ role, right, object, column }: Grant): string => [role, right, object, column].join('|');

/** Every right of every app, as the table says. */
function grantsWanted(): Grant[] {
  return APPS_WITH_ROLES.flatMap((app) => {
    const role = roleOf(app);
    const onTables = Object.entries(PRIVILEGES[app]).flatMap(([table, rights]) => grantsOn(role, table, rights));
    const calls = (EXECUTES[app] ?? []).map((name) => ({
      ...{ role, right: 'EXECUTE', object: `function ${name}`, column: '' },
    }));
    return [...onTables, ...calls];
  });
}

function grantsOn(role: string, table: string, { holds, ...rights }: Rights): Grant[] {
  const given = { ...rights, ...(holds === undefined ? {} : { update: [holds] }) };
  return Object.entries(given).flatMap(([right, columns]) =>
    (Array.isArray(columns) ? columns : ['']).map((column: string) => ({
      ...{ role, right: right.toUpperCase(), object: table, column },
    })),
  );
}

/** Every right that the roles of the apps have on tables and functions of the schema. */
async function grantsThere(client: pg.ClientBase): Promise<Grant[]> {
  const { rows } = await client.query<Grant>(
    `with role as (select oid, rolname from pg_roles where rolname = any($1))
     select rolname as role, privilege_type as right, relname as object, '' as column
       from pg_class cross join aclexplode(relacl) as acl join role on role.oid = acl.grantee
      where relnamespace = 'public'::regnamespace
     union all
     select rolname, privilege_type, relname, attname
       from pg_attribute join pg_class on pg_class.oid = attrelid cross join aclexplode(attacl) as acl join role on role.oid = acl.grantee
      where relnamespace = 'public'::regnamespace and not attisdropped
     union all
     select rolname, privilege_type, 'function ' || pg_proc.oid::regprocedure, ''
       from pg_proc cross join aclexplode(proacl) as acl join role on role.oid = acl.grantee
      where pronamespace = 'public'::regnamespace`,
    [APP_ROLES],
  );
  return rows;
}

/** One statement for each role and object. */
function statementsOf(grants: readonly Grant[], of: (what: string, object: string, role: string) => string): string[] {
  const groups = Map.groupBy(grants, ({ role, object }) => `${role}|${object}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const rights = Map.groupBy(group, ({ right, column }) => (column === '' ? right : `${right} (`));
    const what = [...rights].map(([right, some]) =>
      right.endsWith('(') ? `${right}${some.map(({ column }) => column).join(', ')})` : right,
    );
    return [of(what.join(', '), first.object, first.role)];
  });
}

/** What the database lets the roles do otherwise than the table says, as the statements that make it so. Reads only. */
async function differences(client: pg.ClientBase): Promise<string[]> {
  return [...(await differencesOfSchema(client)), ...(await differencesOfGrants(client))];
}

async function differencesOfGrants(client: pg.ClientBase): Promise<string[]> {
  const wanted = grantsWanted();
  const there = await grantsThere(client);
  const wantedKeys = new Set(wanted.map(keyOf));
  const thereKeys = new Set(there.map(keyOf));
  const surplus = there.filter((grant) => !wantedKeys.has(keyOf(grant)));
  // to take a right to a table away takes it from its columns too
  const emptied = new Set(surplus.filter(({ column }) => column === '').map(keyOf));
  const isGone = (grant: Grant) => emptied.has(keyOf({ ...grant, column: '' }));
  const lacking = wanted.filter((grant) => !thereKeys.has(keyOf(grant)) || isGone(grant));
  return [
    ...statementsOf(surplus, (what, object, role) => `revoke ${what} on ${object} from ${role}`),
    ...statementsOf(lacking, (what, object, role) => `grant ${what} on ${object} to ${role}`),
  ];
}

/** Row level security lets nobody through for whom no policy says so; and nobody but the owner makes anything. */
async function differencesOfSchema(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('%s policy every_tenant on %I to %s%s', case when polname is null then 'create' else 'alter' end, relname,
                   array_to_string($1::text[], ', '), case when polname is null then ' using (true)' else '' end) as statement
       from pg_class left join pg_policy on polrelid = pg_class.oid and polname = 'every_tenant'
      where relnamespace = 'public'::regnamespace and relrowsecurity
        and (polname is null or array(select unnest(polroles) order by 1) <> array(select oid from pg_roles where rolname = any($1) order by 1))
     union all
     select format('grant usage on schema public to %I', name) from unnest($1::text[]) as name where not has_schema_privilege(name, 'public', 'usage')
     union all
     select 'revoke create on schema public from public' where has_schema_privilege('public', 'public', 'create')`,
    [APP_ROLES],
  );
  return rows.map(({ statement }) => statement);
}

const CONCURRENTLY_UPDATED = 'XX000';
const TRIES = 5;

/**
 * Gives each app's role what the table says and takes away what it does not say, all at once; makes the roles first. Repeats change
 * nothing. For the owner of a schema that is up to date.
 *
 * @returns The statements that were needed.
 * @throws PermanentError when roles are missing and this login may not make them.
 */
export async function applyPrivileges(client: pg.ClientBase): Promise<string[]> {
  await createRoles(client);
  // each by itself: a policy locks its table against everybody, and many locks at once would meet those of workers in another order
  const onSchema = await differencesOfSchema(client);
  for (const statement of onSchema) await client.query(statement);
  for (let tries = 1; ; tries += 1) {
    const grants = await differencesOfGrants(client);
    try {
      if (grants.length > 0) await client.query(['begin', ...grants, 'commit'].join(';\n'));
      return [...onSchema, ...grants];
    } catch (error) {
      await client.query('rollback');
      // somebody made a month of the same table at that moment
      if (errorCode(error) !== CONCURRENTLY_UPDATED || tries === TRIES) throw error;
    }
  }
}

/**
 * Whether roles and rights are as the table says: the statements that would make them so, and nothing is changed. Rights are compared
 * once the roles are there.
 *
 * @param options.url As the owner of the schema.
 * @throws TransientError when the database is not ready.
 */
export const checkPrivileges = (options: { url: string }): Promise<string[]> =>
  onConnection(options.url, async (client) => {
    const missing = await missingRoles(client);
    return missing.length > 0 ? missing : differences(client);
  });

/**
 * Makes the roles that hold the rights of the apps, on a server that lacks some; their rights come with the schema.
 *
 * @param options.url Any database of the server, as somebody who may create roles.
 * @throws PermanentError when some are missing and this login may not make them.
 */
export const makeRoles = (options: { url: string }): Promise<void> => onConnection(options.url, createRoles);

/** Makes roles and rights what the table says; `migrate` does it too. @see applyPrivileges */
export const grantPrivileges = (options: { url: string }): Promise<string[]> =>
  onConnection(options.url, applyPrivileges);
