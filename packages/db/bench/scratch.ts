import { migrate } from '@dueline/db';
import pg from 'pg';

/** Connects; a connection that breaks fails the statement in hand. */
export async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined); // the statement in hand rejects with the same error
  await client.connect();
  return client;
}

/** Runs `work` on a database of its own beside that of `adminUrl`, with the whole schema, and takes it away whatever happens. */
export async function onScratch(adminUrl: string, work: (url: string) => Promise<void>): Promise<void> {
  const name = `dueline_bench_${process.pid}`;
  const url = Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href;
  const admin = await connected(adminUrl);
  await admin.query(`create database ${name}`);
  try {
    await migrate({ url });
    await work(url);
  } finally {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}
