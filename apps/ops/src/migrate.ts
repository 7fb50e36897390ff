import { migrate } from '@dueline/db';
import { loadMigrateConfig } from './config.ts';

/** Brings the database to the schema of this code and says what it applied. */
export async function runMigrate(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<void> {
  const config = loadMigrateConfig(env);
  const applied = await migrate({ url: config.DATABASE_URL_DIRECT ?? config.DATABASE_URL, log: print });
  print(applied.length === 0 ? 'the schema is up to date' : `${applied.length} migrations applied`);
}
