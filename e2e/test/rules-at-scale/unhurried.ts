import type { Db } from '@dueline/db';

type Client = Pick<Db['$client'], 'query'>;

/** A connection for statements over everybody, without a limit of the server's; nobody gets it afterwards. */
export async function unhurried<T>(db: Db, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await db.$client.connect();
  try {
    await client.query('set statement_timeout = 0');
    return await work(client);
  } finally {
    client.release(true);
  }
}
