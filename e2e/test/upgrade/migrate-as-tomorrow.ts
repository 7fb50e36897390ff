import type { Db } from '@dueline/db';
import { until } from './until.ts';

const TABLES = `
  select oid::regclass::text as name from pg_class
   where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
/** No lock in time, or a deadlock: as `migrate`, this gives way. */
const BUSY: readonly unknown[] = ['55P03', '40P01'];

/** What the next migrations may add: a column to every table. Nobody may mind, however they have prepared their statements. */
export async function migrateAsTomorrow({ $client }: Db): Promise<void> {
  const { rows } = await $client.query<{ name: string }>(TABLES);
  for (const { name } of rows) {
    const add = `set local lock_timeout = '2s'; alter table ${name} add column if not exists of_tomorrow text default 'unknown'`;
    await until(`${name} has another column`, () =>
      $client.query(add).then(
        () => true,
        (error: { code?: string }) => {
          if (!BUSY.includes(error.code)) throw error;
          return false;
        },
      ),
    );
  }
}
