import { checkPrivileges, grantPrivileges, rolesAsSql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { loadMigrateConfig } from './config.ts';

/** As the owner of the schema, without a pooler where there is one. */
const urlOf = (env: NodeJS.ProcessEnv): string => {
  const config = loadMigrateConfig(env);
  return config.DATABASE_URL_DIRECT ?? config.DATABASE_URL;
};

/** Makes the roles of the apps and gives each the rights that this code wants, and no others; says what it changed. */
export async function applyRoles(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<void> {
  const statements = await grantPrivileges({ url: urlOf(env) });
  for (const statement of statements) print(statement);
  print(statements.length === 0 ? 'roles and rights are as they shall be' : `${statements.length} rights changed`);
}

/** Prints what roles and rights lack or have too many. @throws PermanentError when there is anything. */
export async function checkRoles(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<void> {
  const statements = await checkPrivileges({ url: urlOf(env) });
  for (const statement of statements) print(statement);
  if (statements.length > 0) throw new PermanentError('roles or rights differ; `dueline roles` repairs them');
  print('roles and rights are as they shall be');
}

/** Prints what an administrator runs once where the owner of the schema may not make roles. Connects to nothing. */
export function printRoles(env: NodeJS.ProcessEnv, print: (line: string) => void): void {
  for (const line of rolesAsSql(decodeURIComponent(new URL(urlOf(env)).username))) print(line);
}
