import { randomBytes } from 'node:crypto';
import { type AppWithRole, makeLogins } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

let shared: TestDb;
const made: string[] = [];

beforeAll(async () => {
  shared = await testDb();
});
afterEach(async () => {
  for (const user of made.splice(0)) await shared.db.$client.query(`drop role if exists ${user}`);
});
afterAll(() => shared[Symbol.asyncDispose]());

/** A name that nobody else has, as a role of the server. */
function newName(): string {
  const name = `login_${randomBytes(4).toString('hex')}`;
  made.push(name);
  return name;
}

const make = (user: string, { app = 'pg-listener' as AppWithRole, password = 'secret' } = {}) =>
  makeLogins({ url: shared.url, logins: [{ app, user, password }] });

/** What a statement says to whoever logs in, or how the server refuses it. */
async function sayAs(user: string, password: string, statement = 'select current_user::text as said'): Promise<string> {
  const client = new pg.Client({
    connectionString: Object.assign(new URL(shared.url), { username: user, password }).href,
  });
  try {
    await client.connect();
    const { rows } = await client.query<{ said: string }>(statement);
    return rows[0]?.said ?? 'done';
  } catch (error) {
    return error instanceof pg.DatabaseError ? (error.code ?? error.message) : String(error);
  } finally {
    await client.end();
  }
}

const rolesOf = (user: string) =>
  columnOf(
    shared.db,
    `select role.rolname from pg_auth_members join pg_roles as role on role.oid = roleid join pg_roles as member on member.oid = member
      where member.rolname = $1 order by 1`,
    [user],
  );

const WRONG_PASSWORD = '28P01';
const REFUSED = '42501';

test('a login has the rights of its app and no others', async () => {
  const user = newName();
  await make(user);
  expect(await sayAs(user, 'secret')).toBe(user);
  expect(await sayAs(user, 'other')).toBe(WRONG_PASSWORD);
  expect(await sayAs(user, 'secret', 'select count(*) as said from event_outbox')).toBe('0');
  expect(await sayAs(user, 'secret', 'select * from line_oa')).toBe(REFUSED);
});

test('a repeat changes the password, and the app where it was another one', async () => {
  const user = newName();
  await make(user);
  await make(user, { app: 'trigger-worker', password: 'changed' });
  expect([await sayAs(user, 'secret'), await sayAs(user, 'changed')]).toEqual([WRONG_PASSWORD, user]);
  expect(await rolesOf(user)).toEqual(['dueline_trigger_worker']);
});

test('any name and any password will do', async () => {
  const user = `Log"in 'x'; ${randomBytes(4).toString('hex')}`;
  made.push(pg.escapeIdentifier(user));
  const password = `p'w"$1;\\ö`;
  await make(user, { password });
  expect(await sayAs(user, password)).toBe(user);
});

test.each<[whose: string, more: string]>([
  ['an administrator', 'createrole'],
  ['a role that somebody else gave rights', 'in role pg_read_all_data'],
])('a name that is that of %s is refused, and nothing is made', async (_whose, more) => {
  const [mighty, other] = [newName(), newName()];
  await shared.db.$client.query(`create role ${mighty} login ${more}`);
  const logins = [
    { app: 'ops', user: other, password: 'secret' },
    { app: 'pg-listener', user: mighty, password: 'secret' },
  ] as const;
  await expect(makeLogins({ url: shared.url, logins })).rejects.toThrow(`"${mighty}" may do more`);
  expect(await columnOf(shared.db, 'select rolname from pg_roles where rolname = $1', [other])).toEqual([]);
  expect(await sayAs(mighty, 'secret')).toBe(WRONG_PASSWORD);
});

test('who may not make logins is told so, and no password is said', async () => {
  const [ordinary, user] = [newName(), newName()];
  await shared.db.$client.query(`create role ${ordinary} login password 'own'`);
  const url = Object.assign(new URL(shared.url), { username: ordinary, password: 'own' }).href;
  const failed = await makeLogins({ url, logins: [{ app: 'ops', user, password: 'hidden-one' }] }).catch(String);
  expect(failed).toMatch(/lacks CREATEROLE/);
  expect(failed).not.toContain('hidden-one');
});

test('the password is in no statement, so in no log of statements', async () => {
  const user = newName();
  await make(user, { password: 'hidden-one' });
  const [kept] = await columnOf(shared.db, 'select rolpassword from pg_authid where rolname = $1', [user]);
  expect(kept).toMatch(/^SCRAM-SHA-256\$4096:/);
});
