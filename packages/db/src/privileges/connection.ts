import pg from 'pg';
import { translateError } from '../errors.ts';

/** One connection for the time of `work`. @throws TransientError when the database is not ready. */
export async function onConnection<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'roles', connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined); // the statement in hand rejects with the same error
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw translateError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
