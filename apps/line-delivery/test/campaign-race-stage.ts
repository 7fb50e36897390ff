import type { CampaignStatus, Tenant, Ticket } from '@dueline/contracts';
import { type Db, openDatabase, sql } from '@dueline/db';
import {
  endsOr,
  IS_AT_GATE,
  IS_BLOCKED,
  insertRow,
  insertTenant,
  isTrue,
  type TestDb,
  testDb,
  withGate,
} from '@dueline/db/testing';
import { OPERATIONS, type OperationName } from './campaign-race-operations.ts';

/** The fence under which every campaign and its request are met. */
export const FIRST_FENCE = 7;
const HOUR_AGO = `2026-01-01T00:00:00Z`;
const frozen = { frozen_at: HOUR_AGO, start_date: HOUR_AGO };
const claimed = { claimed_at: HOUR_AGO, claimed_by: 'd:0' };

/** In what state a campaign, a broadcast, is met; what is being sent gave no sign of life for long. */
const STATES = {
  scheduled: { status: 'scheduled', start_date: HOUR_AGO },
  claimed: { status: 'sending', start_date: HOUR_AGO, ...claimed },
  'taken back': { status: 'scheduled', ...frozen, request: 'planned' },
  sending: { status: 'sending', ...claimed, ...frozen, request: 'planned' },
  'at LINE': { status: 'sending', ...claimed, ...frozen, request: 'sending' },
  ended: { status: 'sending', ...claimed, ...frozen, request: 'accepted' },
  paused: { status: 'paused', ...frozen, request: 'planned' },
  'paused before its start': { status: 'paused', start_date: HOUR_AGO },
  stopping: { status: 'paused', ...frozen, cancel_requested_at: HOUR_AGO, request: 'planned' },
  'needs a person': { status: 'needs_attention', ...frozen, request: 'expired' },
} as const satisfies Record<string, Readonly<Record<string, string>> & { status: CampaignStatus }>;
export type StateName = keyof typeof STATES;

/** A campaign and its request, as far as a race judges them. */
export interface Seen {
  readonly status: CampaignStatus;
  readonly fence: number;
  readonly isFrozen: boolean;
  readonly isStopping: boolean;
  readonly text: string;
  /** Null: not frozen. */
  readonly request: string | null;
  readonly requestFence: number;
  readonly attempts: number;
}

/** A campaign, as whoever comes to it has it: what a person or a ticket says of it. */
export interface Scene {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly seen: Ticket;
  /** The ticket of its request, and the request as a worker owns it that is at LINE; undefined: not frozen. */
  readonly request: Ticket | undefined;
}

export interface Stage extends AsyncDisposable {
  readonly own: TestDb;
  readonly tenant: Tenant;
  readonly players: { readonly first: Db; readonly second: Db };
}

const GATE = 4_712;

/** A deferred trigger runs at the commit, with all locks held: so the operations are raced as they are. */
const INSTRUMENTS = `
  create function wait_at_race_gate() returns trigger language plpgsql as $$ begin
    if current_setting('application_name') = 'first' then perform pg_advisory_xact_lock_shared(${GATE}); end if;
    return null;
  end $$;
  create constraint trigger race_gate after update on campaign deferrable initially deferred for each row execute function wait_at_race_gate();
  create constraint trigger race_gate after update on delivery deferrable initially deferred for each row execute function wait_at_race_gate()`;

export async function openStage(): Promise<Stage> {
  const own = await testDb();
  await own.db.$client.query(INSTRUMENTS);
  const tenant = await insertTenant(own.db);
  const open = (applicationName: string) =>
    openDatabase({ url: own.url, applicationName, maxConnections: 2, onError: () => undefined });
  const [first, second] = [open('first'), open('second')];
  return {
    ...{ own, tenant, players: { first: first.db, second: second.db } },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([first.close(), second.close()]);
      await own[Symbol.asyncDispose]();
    },
  };
}

async function insertIn(
  db: Db,
  { organizationId, lineOaId }: Tenant,
  state: StateName,
): Promise<Omit<Scene, 'db' | 'tenant'>> {
  const { request, ...columns }: { request?: string; status: CampaignStatus; frozen_at?: string } = STATES[state];
  const base = { organization_id: organizationId, line_oa_id: lineOaId };
  const messages = JSON.stringify([{ type: 'text', text: 'hello' }]);
  const row = await insertRow(db, 'campaign', {
    ...{ ...base, name: 'raced', cast_type: 'broadcast', messages, fence: FIRST_FENCE, ...columns },
  });
  const seen = { id: String(row.id), fence: String(FIRST_FENCE) };
  if (request === undefined) return { seen, request: undefined };
  await insertRow(db, 'campaign_chunk', { ...base, campaign_id: row.id, chunk_no: 0 });
  const { rows } = await db.execute<{ id: string }>(sql`
    insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, ordinal, campaign_id, chunk_no, retry_key, body, body_sha256,
                          deliver_until, fence, status, lease_until, accepted_at, first_attempt_at, line_request_id)
    select ${organizationId}, ${lineOaId}, 'campaign', ${seen.id}, 'broadcast', 0, ${seen.id}, 0, gen_random_uuid(), body,
           encode(sha256(convert_to(body, 'UTF8')), 'hex'), app_now() + interval '1 day', ${FIRST_FENCE}::int, ${request},
           case when ${request} = 'sending' then clock_timestamp() + interval '1 hour' end, case when ${request} = 'accepted' then app_now() end,
           case when ${request} in ('sending', 'accepted') then app_now() end, case when ${request} = 'accepted' then 'x' end
      from (values (${`{"messages":${messages}}`})) as of (body) returning id`);
  const id = rows[0]?.id ?? '';
  if (request === 'sending' || request === 'accepted')
    await db.execute(sql`
      insert into delivery_attempt (delivery_id, attempt_no, organization_id, line_oa_id, fence, claimed_by, retry_key, outcome, finished_at)
      select id, 1, organization_id, line_oa_id, fence, 'w:1', retry_key, case when status = 'accepted' then 'accepted' end,
             case when status = 'accepted' then clock_timestamp() end from delivery where id = ${id}`);
  return { seen, request: { id, fence: String(FIRST_FENCE) } };
}

export async function lookAt(db: Db, { seen }: Pick<Scene, 'seen'>): Promise<Seen> {
  const { rows } = await db.$client.query<Seen>(
    `select campaign.status, campaign.fence::int as fence, frozen_at is not null as "isFrozen", cancel_requested_at is not null as "isStopping",
            messages -> 0 ->> 'text' as text, delivery.status as request, coalesce(delivery.fence, 0)::int as "requestFence",
            (select count(*)::int from delivery_attempt where delivery_id = delivery.id) as attempts
       from campaign left join delivery on delivery.campaign_id = campaign.id where campaign.id = $1`,
    [seen.id],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the campaign is gone');
  return row;
}

export interface Race {
  readonly first: OperationName;
  readonly second: OperationName;
  readonly state: StateName;
}

/** What became of a race. */
export interface Raced {
  readonly scene: Scene;
  readonly before: Seen;
  /** Whether each did what it is for. */
  readonly did: readonly [first: boolean, second: boolean];
  /** Whether the first held something when the second came, and whether that waited for it. */
  readonly held: boolean;
  readonly waited: boolean;
  /** What the first left, as the second found it; it cannot be seen when nobody waited. */
  readonly after: Seen;
}

/** Lets the first operation go as far as its commit, then the second as far as it comes, then both to their ends. */
export async function race(stage: Stage, { first, second, state }: Race): Promise<Raced> {
  const { own, tenant, players } = stage;
  await own.db.execute(sql`delete from delivery_attempt`);
  await own.db.execute(sql`delete from delivery`);
  await own.db.execute(sql`delete from campaign_chunk`);
  await own.db.execute(sql`delete from campaign_preview`);
  await own.db.execute(sql`delete from campaign`);
  const met = await insertIn(own.db, tenant, state);
  const sceneOf = (db: Db): Scene => ({ db, tenant, ...met });
  const scene = sceneOf(own.db);
  const before = await lookAt(own.db, scene);
  const raced = await withGate(own.db, GATE, async (openGate) => {
    const one = OPERATIONS[first].perform(sceneOf(players.first));
    const held = await endsOr(one, () => isTrue(own.db, IS_AT_GATE));
    const two = OPERATIONS[second].perform(sceneOf(players.second));
    const waited = await endsOr(two, () => isTrue(own.db, IS_BLOCKED));
    await openGate();
    return { did: [await one, await two] as const, held, waited };
  });
  return { scene, before, ...raced, after: await lookAt(own.db, scene) };
}
