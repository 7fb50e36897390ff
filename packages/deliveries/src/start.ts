import { createHash } from 'node:crypto';
import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, type SQL, sql, type Tx, ticketRows } from '@dueline/db';
import type { LogicalSend, SendEndpoint } from './retry-key.ts';
import { attemptsOn, isSend, isStartable } from './startable.ts';

/** What the attempts of a retry key so far prove: `clean`, it reached nobody; `ambiguous`, it may have. */
export type Verdict = 'clean' | 'ambiguous';

/** A delivery that this process owns until `leaseSeconds` after the start; the attempt is written ahead. */
export interface StartedDelivery extends Tenant, Ticket {
  readonly endpoint: LogicalSend['endpoint'];
  /** Of which campaign this is a chunk; null: of none. */
  readonly campaignId: string | null;
  readonly attemptNo: number;
  /** Of the attempts before this one. */
  readonly verdict: Verdict;
  /** How many attempts under this key LINE has refused before. */
  readonly refusals: number;
  /** Which part of a chunk that was split; empty: a whole one. */
  readonly splitPath: string;
  readonly retryKey: string;
  /** The exact bytes to send. */
  readonly body: string;
  /** Whether `body` is what its hash was taken of; what is not must never be sent. */
  readonly intact: boolean;
  readonly traceparent: string | null;
}

/** A send of messages that this process owns. */
export interface StartedSend extends StartedDelivery {
  readonly endpoint: SendEndpoint;
}

export interface Start {
  /** Instance name and boot id of the process. */
  readonly claimedBy: string;
  /** How long the process may own the row, in seconds of process time: the attempt's deadline and a margin. */
  readonly leaseSeconds: number;
  /** An attempt without an outcome younger than this is waited for, in seconds of process time: a late accept must settle. */
  readonly settleSeconds: number;
}

type StartedRow = {
  id: string;
  fence: string;
  endpoint: LogicalSend['endpoint'];
  campaign_id: string | null;
  attempt_no: number;
  ambiguous: boolean;
  refusals: number;
  split_path: string;
  retry_key: string;
  body: string;
  body_sha256: string;
  traceparent: string | null;
};

/**
 * planned -> sending for the tenant's rows whose fence fits and that are due, with the attempt written ahead in the same
 * transaction; the others (decided by another, not due, account paused or stopped, too late) are left out. A clean row is not started
 * after `deliver_until`; an ambiguous one is, until 23 hours after its first attempt, because repeating the key is the only
 * way to learn what became of it; for the same reason it is started though its account is paused, but never of a stopped one. A clean chunk starts only while its campaign is `sending`; the campaign is held meanwhile, so that
 * whoever stops it afterwards sees the chunk on its way. What is neither of a campaign nor a test of one waits, while it is clean, for the end of its
 * account's quiet hours, unless it makes no sound. Switches of menus are left to startMenuDeliveries, webhooks to
 * startWebhookDeliveries.
 *
 * One statement, so it is whole or nothing without a transaction around it.
 *
 * @throws TransientError when the database was not ready.
 */
export async function startDeliveries(
  db: Db,
  tenant: Tenant,
  { tickets, start }: { tickets: readonly Ticket[]; start: Start },
): Promise<StartedSend[]> {
  return (await startRows(db, tenant, { tickets, start, isChosen: isSend })).map(asSend);
}

function asSend(delivery: StartedDelivery): StartedSend {
  const { endpoint } = delivery;
  if (endpoint !== 'push' && endpoint !== 'multicast' && endpoint !== 'broadcast')
    throw new Error(`${endpoint} is no send of messages`);
  return { ...delivery, endpoint };
}

/** The statement, for the rows among the tickets that `isChosen`, a condition over `delivery`, lets through. */
export async function startRows(
  db: Db | Tx,
  tenant: Tenant,
  { tickets, start, isChosen }: { tickets: readonly Ticket[]; start: Start; isChosen: SQL },
): Promise<StartedDelivery[]> {
  const { rows } = await db.execute<StartedRow>(sql`
      with campaigns as materialized (
        select id from campaign
         where status = 'sending' and deleted_date is null
           and id in (select campaign_id from delivery join ${ticketRows(tickets)} on delivery.id = ticket.id)
         order by id
           for share
      ), held as materialized (
        select delivery.id, attempts.count, attempts.ambiguous, attempts.refusals
          from delivery
          join ${ticketRows(tickets)} on delivery.id = ticket.id and delivery.fence = ticket.fence
          left join campaigns on campaigns.id = delivery.campaign_id
          join line_oa as account on account.id = delivery.line_oa_id and account.deleted_date is null and account.stopped_at is null
          join organization on organization.id = delivery.organization_id and organization.stopped_at is null
         ${attemptsOn(start.settleSeconds)}
         where delivery.status = 'planned' and ${isChosen}
           and delivery.organization_id = ${tenant.organizationId} and delivery.line_oa_id = ${tenant.lineOaId}
           and ${isStartable(sql`campaigns.id is not null`)}
         order by delivery.id
           for no key update of delivery
      ), started as (
        update delivery
           set status = 'sending',
               fence = delivery.fence + 1,
               claimed_by = ${start.claimedBy},
               lease_until = clock_timestamp() + make_interval(secs => ${start.leaseSeconds}),
               first_attempt_at = coalesce(delivery.first_attempt_at, app_now()),
               updated_date = clock_timestamp()
          from held
         where delivery.id = held.id
        returning delivery.*, held.count + 1 as attempt_no, held.ambiguous, held.refusals
      ), written_ahead as (
        insert into delivery_attempt (delivery_id, attempt_no, organization_id, line_oa_id, fence, claimed_by, retry_key)
        select id, attempt_no, organization_id, line_oa_id, fence, claimed_by, retry_key from started
      )
      select id, fence, endpoint, campaign_id, attempt_no, ambiguous, refusals, split_path, retry_key, body, body_sha256, traceparent from started order by id`);
  return rows.map((row) => parseStarted(row, tenant));
}

function parseStarted(row: StartedRow, tenant: Tenant): StartedDelivery {
  return {
    organizationId: tenant.organizationId,
    lineOaId: tenant.lineOaId,
    id: row.id,
    fence: row.fence,
    endpoint: row.endpoint,
    campaignId: row.campaign_id,
    attemptNo: row.attempt_no,
    verdict: row.ambiguous ? 'ambiguous' : 'clean',
    refusals: row.refusals,
    splitPath: row.split_path,
    retryKey: row.retry_key,
    body: row.body,
    intact: createHash('sha256').update(row.body).digest('hex') === row.body_sha256,
    traceparent: row.traceparent,
  };
}
