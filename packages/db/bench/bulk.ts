// What one statement over many people costs its writer, and how fast its events drain. node packages/db/bench/bulk.ts <postgres url> [people]
import { openDatabase } from '@dueline/db';
import { announceEvents } from '@dueline/db/changes';
import { connected, onScratch } from './scratch.ts';

const [, , adminUrl = '', peopleText = '200000'] = process.argv;
const people = Number(peopleText);

await onScratch(adminUrl, run);

async function run(url: string): Promise<void> {
  const [listener, writer] = [await connected(url), await connected(url)];
  let heard = 0;
  listener.on('notification', () => {
    heard += 1;
  });
  await listener.query('listen event_outbox');
  const { db, close } = openDatabase({ url, applicationName: 'bulk', maxConnections: 4, onError: () => undefined });
  const timed = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    heard = 0;
    const started = performance.now();
    await work();
    const seconds = (performance.now() - started) / 1_000;
    await listener.query('select 1');
    console.log(`${what}: ${seconds.toFixed(1)} s, ${Math.round(people / seconds)} a second, ${heard} notifications`);
  };
  const drain = async () => {
    for (let left = people; left > 0; )
      left -= (await announceEvents(db, { limit: 1_000, leaseSeconds: 600, maxPublished: 2 * people })).length;
  };
  const updated = (value: number) =>
    writer.query(`update line_user set attributes = jsonb_build_object('a', ${value}::int)`);

  await writer.query(`
    insert into organization (name) values ('bulk');
    insert into line_oa (organization_id, channel_id, name) select id, '1', 'bulk' from organization;
    insert into line_user (organization_id, line_oa_id, user_id)
    select organization_id, id, 'U' || lpad(to_hex(n), 32, '0') from line_oa, generate_series(1, ${people}) as n`);
  await writer.query('alter table line_user disable trigger line_user_attributes_updated');
  await timed('UPDATE without the feed', () => updated(1));
  await writer.query('alter table line_user enable trigger line_user_attributes_updated');
  await timed('UPDATE', () => updated(2));
  await timed('drained, 1,000 at a time', drain);
  await timed('INSERT of custom events', () =>
    writer.query(`
      insert into custom_event (organization_id, line_oa_id, user_id, name, payload, idempotency_key)
      select organization_id, line_oa_id, user_id, 'purchase', '{"amount": 1200}', user_id from line_user`),
  );
  await timed('drained, 1,000 at a time', drain);
  await close();
  await writer.end();
  await listener.end();
}
