import { migrate } from '@dueline/db';
import pg from 'pg';

/** Creates the database `name`, migrates it, and closes it to connections so that it can be cloned at any time. */
export async function createTemplate({ url, name }: { url: string; name: string }): Promise<void> {
  await onServer(url, (client) => client.query(`create database ${client.escapeIdentifier(name)}`));
  const target = new URL(url);
  target.pathname = `/${name}`;
  await migrate({ url: target.href });
  await onServer(url, (client) =>
    client.query(`alter database ${client.escapeIdentifier(name)} is_template true allow_connections false`),
  );
}

export async function dropTemplate({ url, name }: { url: string; name: string }): Promise<void> {
  await onServer(url, async (client) => {
    await client.query(`alter database ${client.escapeIdentifier(name)} is_template false`);
    await client.query(`drop database ${client.escapeIdentifier(name)} with (force)`);
  });
}

async function onServer(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
