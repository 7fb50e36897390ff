import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { within } from './author.ts';

/** `counting` -> `counted` -> (a person confirms) `entering` -> `done`. */
export type EnrolmentStatus = 'counting' | 'counted' | 'entering' | 'done' | 'cancelled' | 'failed';

/** People who match a rule already, on their way into it. */
export interface Enrolment extends Tenant {
  readonly id: string;
  readonly triggerRuleId: string;
  readonly ruleVersion: number;
  readonly status: EnrolmentStatus;
  readonly perMinute: number;
  /** People looked at, in the step that it is in. */
  readonly examined: number;
  readonly matched: number;
  /** Of those who match, those for whom the rule did something. */
  readonly entered: number;
  readonly reasonCode: string | null;
}

/** A page that is in hand. */
export interface EnrolmentPage extends Enrolment {
  readonly fence: string;
  readonly afterUserId: string;
}

/** Fastest pace, in people a minute. Ours. */
const MAX_PER_MINUTE = 60_000;
/** How long a page may take unless its process says less, in seconds of process time; its transaction may take a sixth of that. */
const PAGE_LEASE_SECONDS = 60;
/** Pages that were begun and not decided until an enrolment is given up, and what is waited after each. */
const MAX_ATTEMPTS = 5;
const RETRY_SECONDS = 10;

type Row<Kind extends Enrolment> = Kind & Record<string, unknown>;
const COLUMNS = sql`
  enrolment.id, enrolment.organization_id as "organizationId", enrolment.line_oa_id as "lineOaId", trigger_rule_id as "triggerRuleId",
  rule_version as "ruleVersion", enrolment.status, per_minute as "perMinute", examined, matched, entered, reason_code as "reasonCode"`;

/**
 * Begins to count the people who match a live rule, to enter it at `perMinute` people a minute once that is confirmed.
 *
 * @throws PermanentError when the rule is not live, is not on an attribute (nobody can be in the state of an event), is being entered already, or the pace is none (1 to 60,000).
 */
export const startEnrolment = (
  on: Db | Tx,
  tenant: Tenant,
  { ruleId, perMinute, startedBy }: { ruleId: string; perMinute: number; startedBy: string },
): Promise<string> =>
  within(on, tenant, async (tx) => {
    if (!Number.isInteger(perMinute) || perMinute < 1 || perMinute > MAX_PER_MINUTE)
      throw new PermanentError('a pace is 1 to 60,000 people a minute');
    const { rows: live } = await tx.execute<{ source_type: string }>(sql`
      select source_type from trigger_rule
       where id = ${ruleId} and line_oa_id = ${tenant.lineOaId} and enabled and mode = 'live' and deleted_date is null`);
    if (live[0] === undefined) throw new PermanentError('the rule is not live');
    if (live[0].source_type !== 'attribute_changed')
      throw new PermanentError('nobody matches such a rule already: it waits for something to happen');
    const { rows } = await tx.execute<{ id: string }>(sql`
      insert into rule_enrolment (organization_id, line_oa_id, trigger_rule_id, rule_version, per_minute, started_by)
      select organization_id, line_oa_id, id, version, ${perMinute}, ${startedBy} from trigger_rule
       where id = ${ruleId} and line_oa_id = ${tenant.lineOaId}
          on conflict do nothing
      returning id`);
    if (rows[0] === undefined) throw new PermanentError('people are on their way into the rule already');
    return rows[0].id;
  });

/** Lets those enter who were counted. False: it was not counted, or is over. */
export const confirmEnrolment = (on: Db | Tx, tenant: Tenant, id: string): Promise<boolean> =>
  within(on, tenant, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update rule_enrolment set status = 'entering', fence = fence + 1, after_user_id = '', examined = 0, matched = 0, next_at = app_now()
       where id = ${id} and line_oa_id = ${tenant.lineOaId} and status = 'counted'`);
    return rowCount === 1;
  });

/** Ends it; who entered stays. A page that is being decided comes first, and is the last. False: it is over. */
export const cancelEnrolment = (on: Db | Tx, tenant: Tenant, id: string): Promise<boolean> =>
  within(on, tenant, async (tx) => {
    const { rowCount } = await tx.execute(sql`
      update rule_enrolment
         set status = 'cancelled', fence = fence + 1, lease_until = null, reason_code = 'by_person', ended_date = app_now()
       where id = ${id} and line_oa_id = ${tenant.lineOaId} and status in ('counting', 'counted', 'entering')`);
    return rowCount === 1;
  });

/** The last 50 of an account, the newest first. */
export const listEnrolments = (on: Db | Tx, tenant: Tenant): Promise<Enrolment[]> =>
  within(on, tenant, async (tx) => {
    const { rows } = await tx.execute<Row<Enrolment>>(sql`
      select ${COLUMNS} from rule_enrolment as enrolment where line_oa_id = ${tenant.lineOaId} order by id desc limit 50`);
    return rows;
  });

/**
 * Takes the page that is due longest, of an account that is not stopped; undefined: none is. Safe from any number of replicas. A page
 * whose process died is taken again once its lease is over; after five in a row the enrolment is given up.
 *
 * @param options.leaseSeconds A minute unless given, in seconds of process time.
 */
export function claimEnrolmentPage(
  db: Db,
  { leaseSeconds = PAGE_LEASE_SECONDS }: { leaseSeconds?: number } = {},
): Promise<EnrolmentPage | undefined> {
  return inTransaction(db, async (tx) => {
    const { rows } = await tx.execute<Row<EnrolmentPage>>(sql`
      with due as materialized (
        select enrolment.id
          from rule_enrolment as enrolment
          join line_oa as account on account.id = enrolment.line_oa_id and account.stopped_at is null
          join organization on organization.id = enrolment.organization_id and organization.stopped_at is null
         where enrolment.status in ('counting', 'entering') and enrolment.next_at <= app_now()
           and (enrolment.lease_until is null or enrolment.lease_until < clock_timestamp())
         order by enrolment.next_at, enrolment.id
         limit 1
           for no key update of enrolment skip locked
      )
      update rule_enrolment as enrolment
         set fence = fence + 1,
             attempts = attempts + 1,
             status = case when attempts >= ${MAX_ATTEMPTS} then 'failed' else status end,
             reason_code = case when attempts >= ${MAX_ATTEMPTS} then 'decision_failed' end,
             ended_date = case when attempts >= ${MAX_ATTEMPTS} then app_now() end,
             lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
        from due where enrolment.id = due.id
      returning ${COLUMNS}, enrolment.fence, after_user_id as "afterUserId"`);
    return rows[0];
  });
}

/** Holds the page in the transaction that decides it. False: it is somebody else's by now, or over. */
export async function holdEnrolmentPage(tx: Tx, { id, fence }: Pick<EnrolmentPage, 'id' | 'fence'>): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select from rule_enrolment where id = ${id} and fence = ${fence} and status in ('counting', 'entering') for no key update`);
  return rows.length === 1;
}

/** What a page came to. */
export interface PageOutcome {
  /** The last person that was looked at; null: there are no more. */
  readonly afterUserId: string | null;
  readonly examined: number;
  readonly matched: number;
  readonly entered: number;
}

/** Moves on behind a page that is held; the next one is due when those who matched have had their time at this pace. */
export async function finishEnrolmentPage(tx: Tx, page: EnrolmentPage, outcome: PageOutcome): Promise<void> {
  const isLast = outcome.afterUserId === null;
  const status = page.status === 'counting' ? (isLast ? 'counted' : 'counting') : isLast ? 'done' : 'entering';
  const seconds = page.status === 'entering' ? (outcome.matched * 60) / page.perMinute : 0;
  await tx.execute(sql`
    update rule_enrolment
       set status = ${status}, fence = fence + 1, lease_until = null, attempts = 0,
           after_user_id = ${outcome.afterUserId ?? ''}, examined = examined + ${outcome.examined}, matched = matched + ${outcome.matched},
           entered = entered + ${outcome.entered}, next_at = app_now() + make_interval(secs => ${seconds}),
           ended_date = case when ${status} = 'done' then app_now() end
     where id = ${page.id} and fence = ${page.fence}`);
}

/** Ends a page that is held, and with it the enrolment, because its rule is not what was counted any more. */
export async function endEnrolment(tx: Tx, { id, fence }: EnrolmentPage, reasonCode: 'rule_changed'): Promise<void> {
  await tx.execute(sql`
    update rule_enrolment
       set status = 'cancelled', fence = fence + 1, lease_until = null, reason_code = ${reasonCode}, ended_date = app_now()
     where id = ${id} and fence = ${fence}`);
}

/** Gives a page back whose decision failed, to be tried again. */
export async function giveBackEnrolmentPage(db: Db, { id, fence }: EnrolmentPage): Promise<void> {
  await inTransaction(db, (tx) =>
    tx.execute(sql`
      update rule_enrolment
         set fence = fence + 1, lease_until = null, next_at = app_now() + make_interval(secs => ${RETRY_SECONDS})
       where id = ${id} and fence = ${fence} and status in ('counting', 'entering')`),
  );
}
