import { randomBytes } from 'node:crypto';
import { APPS_WITH_ROLES } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runMigrate } from '../src/migrate.ts';
import { applyRoles, checkRoles, printRoles } from '../src/roles.ts';

const AS_SAID = ['roles and rights are as they shall be'];
type Command = (env: NodeJS.ProcessEnv, print: (line: string) => void) => Promise<void> | void;

let own: TestDb;
/** Somebody who owns the database and may make no roles, as managed servers have it. */
let owner: { readonly name: string; readonly url: string };

beforeEach(async () => {
  own = await testDb({ empty: true });
  const name = `owner_${randomBytes(4).toString('hex')}`;
  const { pathname } = new URL(own.url);
  await own.db.$client.query(
    `create role ${name} login password 'secret'; alter database ${pathname.slice(1)} owner to ${name}`,
  );
  owner = { name, url: Object.assign(new URL(own.url), { username: name, password: 'secret' }).href };
});
afterEach(async () => {
  const { name } = owner;
  await own.db.$client.query(`reassign owned by ${name} to current_user; drop owned by ${name}; drop role ${name}`);
  await own[Symbol.asyncDispose]();
});

/** What a command says, and what it fails with. */
async function say(url: string, command: Command): Promise<string[]> {
  const lines: string[] = [];
  try {
    await command({ DATABASE_URL: url }, (line) => lines.push(line));
  } catch (error) {
    lines.push(String(error));
  }
  return lines;
}

test('rights that were changed by hand are named by a check, and put right', async () => {
  await say(own.url, runMigrate);
  expect(await say(own.url, checkRoles)).toEqual(AS_SAID);
  await own.db.$client.query('grant delete on delivery to dueline_line_delivery');
  const wrong = 'revoke DELETE on delivery from dueline_line_delivery';
  const refusal = 'PermanentError: roles or rights differ; `dueline roles` repairs them';
  expect(await say(own.url, checkRoles)).toEqual([wrong, refusal]);
  expect(await say(own.url, applyRoles)).toEqual([wrong, '1 rights changed']);
  expect(await say(own.url, checkRoles)).toEqual(AS_SAID);
});

test('who may not make roles migrates and grants after an administrator ran what is printed', async () => {
  const printed = (await say(owner.url, printRoles)).join('\n');
  expect(printed).toContain(`grant dueline_tenant to "${owner.name}" with admin option;`);
  for (const app of APPS_WITH_ROLES) expect(printed).toContain(`in role dueline_${app.replaceAll('-', '_')};`);
  const logins = printed.match(/^-- create role .*$/gm) ?? [];
  expect(logins).toHaveLength(APPS_WITH_ROLES.length);
  for (const login of logins) {
    const statement = login.slice('-- '.length).replace(/"(.+?)"/, `"$1-${owner.name}"`); // by a name that nobody else has
    await own.db.$client.query(`begin; ${statement} rollback`);
  }
  // the roles of this server are there already: what makes them is left out
  await own.db.$client.query(printed.replaceAll(/^create role .*$/gm, ''));

  expect(await say(owner.url, runMigrate)).toContainEqual(expect.stringMatching(/^\d+ migrations applied$/));
  expect(await say(owner.url, checkRoles)).toEqual(AS_SAID);
  const mighty = 'select rolsuper or rolcreaterole from pg_roles where rolname = $1';
  expect(await columnOf(own.db, mighty, [owner.name])).toEqual(['false']);
});
