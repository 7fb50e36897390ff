import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { QUEUES, type Ticket } from '@dueline/contracts';
import { jumpAhead } from '@dueline/db';
import { APP_NAMES, type AppName, type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import type { Planned } from '@dueline/stress';
import { createRule } from '@dueline/trigger-rules';
import * as story from './story.ts';
import { openTap, type Tap } from './tap.ts';
import { until, untilRows } from './until.ts';

// Plays the story of a release up to a moment at which as much as possible is open, and keeps what there is then. Runs from the
// sources of that release, into which make-fixture-main.ts copies this folder.
const [out = '.'] = process.argv.slice(2);
const tell = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

interface Play {
  readonly stack: Stack;
  readonly cast: story.Cast;
  readonly planned: Planned[];
  readonly tap: Tap;
}

const keyOf = ({ user, lid }: { user: string; lid: string | null }) => `${lid} of ${user}`;
const receivedKeys = async ({ line }: Stack): Promise<Set<string>> => new Set((await line.receiptsSince(0)).map(keyOf));

const untilReceived = (stack: Stack, planned: readonly Planned[]) =>
  until(`${planned.length} messages are received`, async () => {
    const received = await receivedKeys(stack);
    return planned.every((message) => received.has(keyOf(message)));
  });

async function fault({ line }: Stack, rules: readonly object[]): Promise<void> {
  const body = JSON.stringify({ seed: 1, rules });
  await fetch(`${line.controlUrl}/faults`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
}

async function kill({ apps }: Stack, name: AppName): Promise<void> {
  const app = apps.get(name);
  app?.child.kill('SIGKILL');
  await app?.gone;
}

const CITY = { city: 'Oslo' };

/** What is over and done with: events, facts, waits, a campaign. */
async function playHistory({ stack, cast, planned }: Play): Promise<void> {
  const { db } = stack.database;
  const [moved, busy] = [cast.next(20), cast.next(5)];
  await story.change(db, moved, CITY);
  await story.happen(db, cast.tenantOf('rules'), busy);
  const sent = await story.campaign(db, cast, { part: 'early', lid: 'history', inSeconds: 1 });
  const all = [...story.plannedFor(moved, story.CITY_LIDS), ...story.plannedFor(busy, story.FACT_LIDS), ...sent];
  await untilRows(db, "select from scheduled_action where status = 'pending'", 2 * moved.length);
  await untilReceived(stack, [...story.plannedFor(moved, ['now', 'soon']), ...sent]);
  await stack.travel(3_601);
  await untilReceived(stack, all);
  planned.push(...all);
}

/** Messages of which nobody learned whether LINE has them, until LINE forgot their keys. @returns Whose. */
async function playDoubts({ stack, cast }: Play): Promise<Planned[]> {
  const { db } = stack.database;
  await fault(stack, [{ id: 'reset', phase: 'beforeAccept', effect: { type: 'reset' } }]);
  const users = cast.next(3);
  await story.change(db, users, { mood: 'good' });
  await untilRows(db, "select from delivery where status = 'planned' and first_attempt_at is not null", users.length);
  const moveOthers = (aheadSeconds: number) => stack.line.moveClock(aheadSeconds * 1_000);
  await until('a day has passed', async () => {
    return (await jumpAhead(db, { seconds: 86_400, moveOthers, leavesDoubts: true })) !== undefined;
  });
  await untilRows(db, "select from delivery where status = 'unknown'", users.length);
  await fault(stack, []);
  return story.plannedFor(users, ['mood']);
}

const SECONDS_UNTIL = (time: string) => `
  select extract(epoch from date_trunc('day', app_now() at time zone 'UTC') + interval '1 day' + time '${time}' - (app_now() at time zone 'UTC'))::int as s`;

/** The morning of the dump: what waits, a campaign that is being sent, and one that will be. */
async function playMorning({ stack, cast, planned }: Play): Promise<string[]> {
  const { db } = stack.database;
  await stack.travel(Number((await db.$client.query<{ s: number }>(SECONDS_UNTIL('08:50'))).rows[0]?.s));
  await story.seedMornings(db, cast);
  planned.push(...story.plannedMorning('nine'), ...story.plannedMorning('half'));
  await untilRows(db, 'select from cycle_schedule where next_run_at is not null', 2);

  const moved = cast.next(30);
  const waiting = cast.next(20);
  await story.change(db, moved, CITY);
  await story.change(db, waiting, { invited: 'yes' });
  planned.push(...story.plannedFor(moved, story.CITY_LIDS));
  await untilReceived(stack, story.plannedFor(moved, ['now', 'soon']));
  await untilRows(
    db,
    "select from scheduled_action where expires_at is not null and status = 'pending'",
    waiting.length,
  );

  planned.push(...(await story.campaign(db, cast, { part: 'late', lid: 'scheduled', inSeconds: 50 * 60 })));
  const tenant = cast.tenantOf('paced');
  const audienceId = await createAudience(db, tenant, { name: 'everybody' });
  const { rows } = await db.$client.query<{ user_id: string }>('select user_id from line_user where line_oa_id = $1', [
    tenant.lineOaId,
  ]);
  await addAudienceMembers(db, tenant, { audienceId, userIds: rows.map(({ user_id }) => user_id) });
  const adjust = async ({ id }: Ticket) => {
    await db.$client.query('update campaign set max_per_minute = 15 where id = $1', [id]); // a chunk in 33 minutes
  };
  planned.push(...(await story.campaign(db, cast, { part: 'paced', lid: 'paced', inSeconds: 1, audienceId, adjust })));
  await untilRows(db, "select from delivery where campaign_id is not null and status = 'planned'", 2);
  await until('a chunk is accepted', async () => {
    return (await stack.line.receiptsSince(0)).filter(({ lid }) => lid === 'paced').length >= 500;
  });
  await untilRows(db, "select from delivery where campaign_id is not null and status = 'accepted'", 2);
  return waiting;
}

/** Everything dies, one app after the other, each with something in its hand. */
async function playDeaths({ stack, cast, planned }: Play): Promise<void> {
  const { db } = stack.database;
  const refused = cast.next(2);
  await fault(stack, [{ id: 'outage', phase: 'beforeAccept', effect: { type: 'status', status: 500 } }]);
  await story.change(db, refused, { mood: 'good' });
  planned.push(...story.plannedFor(refused, ['mood']));
  await untilRows(db, "select from delivery where status = 'planned' and first_attempt_at is not null", refused.length);
  await kill(stack, 'line-delivery');
  await fault(stack, []);
  const dying = await stack.start('line-delivery', { INSTANCE_NAME: 'dying', CRASH_AT: 'send.started' });
  await dying.gone;
  await untilRows(db, "select from delivery where status = 'sending'");

  const unsent = cast.next(5);
  await story.change(db, unsent, CITY);
  await untilRows(
    db,
    `select from delivery where status = 'planned' and user_id in ('${unsent.join("','")}')`,
    2 * unsent.length,
  );
  await kill(stack, 'trigger-worker');
  const toQuarterPast = `
    update product_time_offset set ahead = ahead + (date_trunc('hour', app_now()) + case when extract(minute from app_now()) < 30 then interval '16 min' else interval '76 min' end - app_now())`;
  await db.$client.query(toQuarterPast);
  await db.$client.query("select pg_notify('scheduled_action_due', '')");
  await untilRows(db, 'select from scheduled_trigger_execution');
  await untilRows(db, "select from scheduled_action where status = 'processing'", 30);

  const told = cast.next(10);
  await story.change(db, told, CITY);
  await story.happen(db, cast.tenantOf('rules'), told);
  await untilRows(db, "select from event_outbox where status = 'published'", told.length);
  await kill(stack, 'pg-listener');
  const untold = cast.next(10);
  await story.change(db, untold, CITY);
  planned.push(...story.plannedFor([...unsent, ...told, ...untold], story.CITY_LIDS));
  planned.push(...story.plannedFor(told, story.FACT_LIDS));
  for (const name of APP_NAMES) await kill(stack, name);
}

/** Leads a message to each queue that has had none. */
async function fillQueues({ stack, cast, tap }: Play): Promise<object[]> {
  const { db } = stack.database;
  for (const name of APP_NAMES) await stack.restart(name);
  const tenant = cast.tenantOf('rules');
  const { organizationId, lineOaId } = tenant;
  await createRule(db, tenant, {
    ...{ name: 'hook', sourceType: 'attribute_changed', sourceConfig: { attribute: 'hook' }, frequency: 'every_time' },
    ...{ actionType: 'call_webhook', actionConfig: { url: 'https://receiver.invalid/' } },
  } as Parameters<typeof createRule>[2]);
  const [user = ''] = cast.next(1);
  await story.change(db, [user], { hook: 'yes' });
  const [waiting = ''] = cast.next(1);
  await story.change(db, [waiting], { invited: 'yes' });
  await untilRows(db, `select from scheduled_action where user_id = '${waiting}' and status = 'pending'`);
  await story.click(db, tenant, [waiting]);
  await db.$client.query(
    `insert into event_outbox (organization_id, line_oa_id, topic, user_id, root_id, payload)
     select $1, $2, 'delivery_settled', $3, gen_random_uuid(), jsonb_build_object('deliveryId', '1', 'end', 'accepted')`,
    [organizationId, lineOaId, user],
  );
  const samples = new Map<string, object>();
  await until(`every queue has had a message`, async () => {
    for (const sample of await tap.take()) samples.set(sample.queue, sample);
    const missing = QUEUES.filter(({ name }) => !samples.has(name)).map(({ name }) => name);
    if (missing.length > 0) tell(`no message yet of ${missing.join(', ')}`);
    await sleep(500);
    return missing.length === 0;
  });
  return [...samples.values()];
}

function dump(databaseUrl: string): Buffer {
  const args = ['--no-owner', '--inserts', '--rows-per-insert=500', '--schema=public', databaseUrl];
  const text = execFileSync('pg_dump', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  // Lines for psql alone, and the schema that every database has.
  return gzipSync(text.replaceAll(/^\\.*$/gm, '').replace(/^CREATE SCHEMA public;$/m, ''), { level: 9 });
}

const stack = await startStack({
  ...{ env: process.env, name: 'release', channels: story.channels, appEnv: story.SETTINGS },
  tell,
});
try {
  const tap = await openTap(stack);
  const play: Play = { stack, tap, cast: await story.seed(stack.database.db), planned: [] };
  await playHistory(play);
  const unknown = await playDoubts(play);
  const waiting = await playMorning(play);
  await playDeaths(play);

  writeFileSync(join(out, 'database.sql.gz'), dump(stack.databaseUrl));
  const received = await receivedKeys(stack);
  const { rows: migrations } = await stack.database.db.$client.query(
    'select name, sha256 from schema_migration order by 1',
  );
  const open = play.planned.filter((message) => !received.has(keyOf(message)));
  const state = {
    ...{ dumpedAt: new Date().toISOString(), used: play.cast.used(), channels: story.channels, migrations },
    ...{ open: byLid(open), unknown: byLid(unknown), waiting },
  };
  writeFileSync(join(out, 'release.json'), JSON.stringify(state));
  writeFileSync(join(out, 'messages.json'), JSON.stringify(await fillQueues(play)));
} finally {
  await stack.stop();
}

function byLid(planned: readonly Planned[]): Record<string, string[]> {
  const groups = Map.groupBy(planned, ({ lid }) => lid);
  return Object.fromEntries([...groups].map(([lid, messages]) => [lid, messages.map(({ user }) => user)]));
}
