import type { Db } from '@dueline/db';

type Client = Pick<Db['$client'], 'query'>;

/** Statements over everybody take longer than our own may: a connection without that limit, which nobody gets afterwards. */
export async function unhurried<T>(db: Db, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await db.$client.connect();
  try {
    await client.query('set statement_timeout = 0');
    return await work(client);
  } finally {
    client.release(true);
  }
}
