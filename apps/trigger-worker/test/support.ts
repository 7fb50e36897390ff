import { randomBytes, randomUUID } from 'node:crypto';
import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant, TenantTicket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { announceEvents } from '@dueline/db/changes';
import { createRule, type RuleDraft } from '@dueline/trigger-rules';
import { afterEarlierBoots, type DecideDeps } from '../src/deps.ts';
import { createGate } from '../src/gate.ts';

export const userId = (n: number): string => `U${n.toString(16).padStart(32, '0')}`;

let channels = 0;

/** An organization with one account and `users` users, numbered from 0. */
export async function createTenant(db: Db, users = 10): Promise<Tenant> {
  const organizationId = await createOrganization(db, { name: 'test' });
  const account = { organizationId, channelId: `77${process.pid}${channels++}`, name: 'test', timezone: 'Asia/Tokyo' };
  const tenant = await createLineOa(db, { ...account, channelAccessToken: randomUUID(), secretsKey: randomBytes(32) });
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, Array.from({ length: users }, (_, n) => userId(n))],
  );
  return tenant;
}

/** A rule that answers any change of `city` at once; what is given replaces its parts. */
export const createCityRule = (
  db: Db,
  tenant: Tenant,
  parts: Partial<RuleDraft<'send_message'>> = {},
): Promise<string> =>
  createRule(db, tenant, {
    name: 'city',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'city' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: 'hello' }] },
    frequency: 'every_time',
    ...parts,
  });

/** Accounts with a rule each, of which everybody moves. */
export async function movedAccounts(
  db: Db,
  { accounts: howMany, people }: { accounts: number; people: number },
): Promise<Tenant[]> {
  const accounts: Tenant[] = [];
  for (let n = 0; n < howMany; n += 1) {
    const tenant = await createTenant(db, people);
    await createCityRule(db, tenant);
    accounts.push(tenant);
  }
  await db.$client.query(`update line_user set attributes = '{"city": "Edo"}'`);
  return accounts;
}

/** Has every statement fail that makes a message to one person, with this SQLSTATE. */
export const spoilMessagesTo = (
  db: Db,
  { lineOaId, person, code }: { lineOaId: string | undefined; person: number; code: string },
) =>
  db.$client.query(`
    create function spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt' using errcode = '${code}'; end $$;
    create trigger spoil before insert on delivery for each row when (new.line_oa_id = ${lineOaId} and new.user_id = '${userId(person)}')
      execute function spoil()`);

export const later = (seconds: number, reEvaluateConditions = false): RuleDraft<'send_message'>['actionConfig'] => ({
  messages: [{ type: 'text', text: 'hello, later' }],
  delay: { seconds, reEvaluateConditions },
});

export async function setAttributes(
  db: Db,
  tenant: Tenant,
  attributes: object,
  users: readonly number[],
): Promise<void> {
  await db.$client.query(
    'update line_user set attributes = attributes || $1 where line_oa_id = $2 and user_id = any($3)',
    [attributes, tenant.lineOaId, users.map(userId)],
  );
}

/** Tickets of every event that is pending, as pg-listener would announce them. */
export const announceAll = (db: Db) => announceEvents(db, { limit: 1_000, leaseSeconds: 60, maxPublished: 10_000 });

export interface Handled extends DecideDeps {
  /** Tickets handed to line-delivery. */
  readonly handedOver: TenantTicket[];
  /** Errors that were logged. */
  readonly errors: unknown[];
}

export function decideDeps(db: Db, { claimedBy = `test:${randomUUID()}` } = {}): Handled {
  const handedOver: TenantTicket[] = [];
  const errors: unknown[] = [];
  const log = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: (fields: object) => errors.push(fields),
  };
  return {
    db,
    log,
    handedOver,
    errors,
    handOver: async (deliveries) => {
      handedOver.push(...deliveries);
    },
    onDecided: () => undefined,
    claimedBy,
    leaseSeconds: 60,
    gate: createGate(),
    ready: afterEarlierBoots({ db, log, claimedBy }),
  };
}

export const message = <Data>(tenant: Tenant, data: Data) => ({
  id: randomUUID(),
  tenant,
  data,
  deliveryCount: 0,
  publishedAt: new Date().toISOString(),
});

/** decision and reason of every evaluation in the history, sorted, with how often it occurs. */
export async function decisions(db: Db): Promise<Record<string, number>> {
  const { rows } = await db.$client.query<{ what: string; count: number }>(
    `select decision || ': ' || reason_code as what, sum(evaluations)::int as count from trigger_log group by 1 order by 1`,
  );
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]));
}

export async function count(db: Db, table: string, where = 'true'): Promise<number> {
  const { rows } = await db.$client.query<{ count: number }>(
    `select count(*)::int as count from ${table} where ${where}`,
  );
  return rows[0]?.count ?? 0;
}
