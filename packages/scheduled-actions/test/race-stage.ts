import type { Tenant, TenantTicket } from '@dueline/contracts';
import { type Db, openDatabase, sql } from '@dueline/db';
import {
  endsOr,
  IS_AT_GATE,
  IS_BLOCKED,
  insertRow,
  insertTenant,
  insertUsers,
  isTrue,
  moveProductTime,
  type TestDb,
  testDb,
  withGate,
} from '@dueline/db/testing';
import {
  type Decision,
  decide,
  OPERATIONS,
  type OperationName,
  type Scene,
  sweep,
  type Told,
} from './race-operations.ts';
import {
  beginAnew,
  FIRST_FENCE,
  insertInState,
  type MetRow,
  type RowSeen,
  STATES,
  type StateName,
  type Version,
  versionsOf,
} from './race-states.ts';
import { claim } from './support.ts';

/** A database in which whoever is called `first` waits for a gate before its commit, and every change of a row is written down. */
export interface Stage extends AsyncDisposable {
  readonly own: TestDb;
  readonly tenant: Tenant;
  readonly linkId: string;
  /** Somebody to whom nothing has happened yet. */
  readonly nextUser: () => string;
  readonly players: { readonly first: Db; readonly second: Db };
}

const GATE = 4_711;
const waitAtGate = sql`select pg_advisory_xact_lock_shared(${GATE}::bigint) where current_setting('application_name') = 'first'`;

/** A deferred trigger runs at the commit, with all locks held: so the operations are raced as they are. */
const INSTRUMENTS = `
  create table race_version (action_id bigint, n bigint generated always as identity, before jsonb not null, after jsonb not null, primary key (action_id, n));
  create function write_race_version() returns trigger language plpgsql security definer as $$ begin
    insert into race_version (action_id, before, after) values (new.id, to_jsonb(old), to_jsonb(new));
    return null;
  end $$;
  create trigger race_version after update on scheduled_action for each row execute function write_race_version();
  create function wait_at_race_gate() returns trigger language plpgsql as $$ begin
    if current_setting('application_name') = 'first' then perform pg_advisory_xact_lock_shared(${GATE}); end if;
    return null;
  end $$;
  create constraint trigger race_gate after update on scheduled_action deferrable initially deferred
    for each row execute function wait_at_race_gate()`;

export async function openStage(): Promise<Stage> {
  const own = await testDb();
  await moveProductTime(own.db, 0);
  await own.db.$client.query(INSTRUMENTS);
  const tenant = await insertTenant(own.db);
  const users = await insertUsers(own.db, tenant, 1_000);
  const { id } = await insertRow(own.db, 'tracked_link', {
    ...{
      organization_id: tenant.organizationId,
      line_oa_id: tenant.lineOaId,
      name: 'shop',
      url: 'https://example.com',
    },
  });
  const open = (applicationName: string) =>
    openDatabase({ url: own.url, applicationName, maxConnections: 2, onError: () => undefined });
  const [first, second] = [open('first'), open('second')];
  return {
    ...{
      own,
      tenant,
      linkId: String(id),
      nextUser: () => nextOf(users),
      players: { first: first.db, second: second.db },
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([first.close(), second.close()]);
      await own[Symbol.asyncDispose]();
    },
  };
}

export interface Race {
  readonly first: OperationName;
  readonly second: OperationName;
  readonly state: StateName;
}

/** What became of a race, before anything else happened to the row and when it had ended. */
export interface Raced {
  readonly told: readonly [first: Told, second: Told];
  /** Whether the first held the row when the second came, and whether that waited for it. */
  readonly held: boolean;
  readonly waited: boolean;
  readonly versions: readonly Version[];
  /** The row after the race, and at its end. */
  readonly row: RowSeen;
  readonly last: RowSeen;
  readonly allVersions: readonly Version[];
  readonly decisions: readonly Decision[];
  /** Moves by tickets with another fence than the row has after the race. */
  readonly byLosers: number;
}

/** Lets the first operation go as far as its commit, then the second as far as it comes, then both to their ends; then ends the row. */
export async function race(stage: Stage, { first, second, state }: Race): Promise<Raced> {
  const { own, tenant, linkId, players } = stage;
  await beginAnew(own.db);
  const userId = stage.nextUser();
  const met = await insertInState(own.db, tenant, { state, userId, linkId });
  const sceneOf = (db: Db): Scene => ({
    ...{ db, tenant, state, userId, linkId, ...met },
    seen: { id: met.id, fence: String(FIRST_FENCE) },
    ticket: { ...tenant, id: met.id, fence: String(FIRST_FENCE - (STATES[state].status === 'processing' ? 0 : 1)) },
    beforeCommit: async (tx) => void (await tx.execute(waitAtGate)),
  });
  const raced = await withGate(own.db, GATE, async (openGate) => {
    const one: Promise<Told> = OPERATIONS[first].perform(sceneOf(players.first));
    const held = await endsOr(one, () => isTrue(own.db, IS_AT_GATE));
    const two: Promise<Told> = OPERATIONS[second].perform(sceneOf(players.second));
    const waited = await endsOr(two, () => isTrue(own.db, IS_BLOCKED));
    await openGate();
    return { told: [await one, await two] as const, held, waited };
  });
  const versions = await versionsOf(own.db, met);
  const row = versions.at(-1)?.after ?? (await rowOf(own.db, met));
  const settled = await settle(own.db, sceneOf(own.db), { told: raced.told, fence: String(row.fence) });
  const decisions = [...raced.told, ...settled.told].flatMap((told) => told.decisions ?? []);
  const allVersions = await versionsOf(own.db, met);
  return {
    ...raced,
    versions,
    row,
    decisions,
    byLosers: settled.byLosers,
    last: allVersions.at(-1)?.after ?? row,
    allVersions,
  };
}

/** Product time goes on, and workers do what is left to do: the tickets in hand first, then what they claim. */
async function settle(
  db: Db,
  scene: Scene,
  { told, fence }: { told: readonly Told[]; fence: string },
): Promise<{ told: Told[]; byLosers: number }> {
  await db.$client.query(`update product_time_offset set ahead = '2 hours'`);
  const after: Told[] = [];
  let byLosers = 0;
  const tickets: TenantTicket[] = [scene.ticket, ...told.flatMap((one) => one.tickets ?? [])];
  for (const ticket of tickets) {
    const decided = await decide(scene, ticket);
    if (ticket.fence !== fence) byLosers += decided.moves;
    after.push(decided);
  }
  after.push(await sweep(scene));
  for (const ticket of await claim(db)) after.push(await decide(scene, ticket));
  return { told: after, byLosers };
}

async function rowOf(db: Db, { id }: MetRow): Promise<RowSeen> {
  const { rows } = await db.$client.query(
    'select to_jsonb(scheduled_action) as row from scheduled_action where id = $1',
    [id],
  );
  return rows[0].row;
}

function nextOf(users: string[]): string {
  const user = users.pop();
  if (user === undefined) throw new Error('there are more races than people');
  return user;
}
