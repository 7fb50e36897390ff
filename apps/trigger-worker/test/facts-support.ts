import { randomUUID } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { insertRow, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { createTrackedLink } from '@dueline/link-tracking';
import { createForm } from '@dueline/recipients';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { announceAll, createTenant, decideDeps, message } from './support.ts';

export const context = { signal: new AbortController().signal };
export const PERSON = lineUserId(1);
export const key = () => randomUUID();
export const hours = (count: number) => new Date(Date.now() + count * 3_600_000).toISOString();

export const baseOf = ({ organizationId, lineOaId }: Tenant, userId = PERSON) => ({
  organization_id: organizationId,
  line_oa_id: lineOaId,
  user_id: userId,
});

export const UNLOCKED = { branch: 'yes', lane: 0, status: 'pending', due: true };
export const UNTOUCHED = { branch: null, lane: 1, status: 'pending', due: false };

export interface Waiting {
  readonly source: string;
  readonly refId?: string | null;
  readonly userId?: string;
  readonly changes?: object;
}

/** An account with what facts are about, in a database of its own. */
export interface Stage extends AsyncDisposable {
  readonly shared: TestDb;
  readonly tenant: Tenant;
  readonly link: string;
  readonly form: string;
  readonly booking: string;
  /** Forgets all facts, events, waits and history. */
  readonly clear: () => Promise<unknown>;
  /** Inserts a fact about PERSON as any service would. */
  readonly insert: (table: string, values: object) => Promise<void>;
  readonly insertClick: (values?: object) => Promise<void>;
  /** A row that has waited for an hour and would wait for one more. */
  readonly waiting: (wait: Waiting) => Promise<string>;
  /** Hands every announced event to its consumer, as the broker does; gives the outcome of each message. */
  readonly consume: (deps?: ReturnType<typeof decideDeps>) => Promise<string[]>;
  readonly stateOf: (id: string) => Promise<object>;
}

export async function setStage(): Promise<Stage> {
  const shared = await testDb();
  const { db } = shared;
  const tenant = await createTenant(db);
  const base = baseOf(tenant);
  const booking = await insertRow(db, 'booking', { ...base, name: 'cut', starts_at: '2030-01-01' });
  const link = await createTrackedLink(db, tenant, { name: 'shop', url: 'https://example.com' });
  const insert = async (table: string, values: object) => {
    await insertRow(db, table, { ...base, idempotency_key: key(), ...values });
  };
  return {
    ...{ shared, tenant, link, insert, booking: String(booking.id) },
    form: await createForm(db, tenant, { name: 'form' }),
    insertClick: (values = {}) => insert('link_click', { tracked_link_id: link, ...values }),
    waiting: (wait) => insertWaiting(shared, tenant, wait),
    consume: (deps = decideDeps(db)) => consumeAll(deps),
    clear: () =>
      db.$client.query(
        `delete from scheduled_action; delete from event_outbox; delete from event_archive; delete from trigger_log;
         delete from link_click; delete from form_submission; delete from booking_event; delete from friend_track_event`,
      ),
    stateOf: async (id) => {
      const { rows } = await db.$client.query(
        'select branch, lane, status, execute_at <= app_now() as due from scheduled_action where id = $1',
        [id],
      );
      return rows[0];
    },
    [Symbol.asyncDispose]: () => shared[Symbol.asyncDispose](),
  };
}

async function insertWaiting({ db }: TestDb, tenant: Tenant, wait: Waiting): Promise<string> {
  const base = baseOf(tenant, wait.userId);
  const { id } = await insertRow(db, 'scheduled_action', {
    ...{ ...base, action_type: 'send_message', action_config: {}, dedup_key: key() },
    ...{ execute_at: hours(1), due_at: hours(1), anchor_at: hours(-1), expires_at: hours(1), ...wait.changes },
  });
  await insertRow(db, 'action_wait', {
    ...{ ...base, scheduled_action_id: id, n: 0, source: wait.source, ref_id: wait.refId ?? null, branch: 'yes' },
  });
  return String(id);
}

async function consumeAll(deps: ReturnType<typeof decideDeps>): Promise<string[]> {
  const outcomes: string[] = [];
  const tickets = await announceAll(deps.db);
  for (let at = 0; at < tickets.length; at += 100) {
    const some = tickets.slice(at, at + 100);
    if (some[0] === undefined) continue;
    const handle = handleTriggerEvents(deps, some[0].topic);
    outcomes.push((await handle(message(some[0], { tickets: some }), context)).outcome);
  }
  return outcomes;
}
