import type { ScheduledTimeConfig, Tenant, Ticket } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';

/** People of one page: read, and each given what the rule does, in one transaction. */
export const PAGE_SIZE = 500;
/** People that are looked at for a page of a reminder, which is for few of them. */
const PEOPLE_PER_REMINDER_PAGE = 10_000;

/** A cycle that this process reads until its lease is over. */
export interface Cycle extends Tenant, Ticket {
  readonly triggerRuleId: string;
  /** The nominal instant. */
  readonly scheduledAt: string;
}

type CycleRow = {
  id: string;
  fence: string;
  organization_id: string;
  line_oa_id: string;
  trigger_rule_id: string;
  scheduled_at: string;
};

/**
 * Takes a cycle over under a new fence: whoever read it before writes nothing any more. Undefined: it is over, paused, stopped, or another has
 * taken it; the ticket is to be discarded quietly.
 */
export async function takeCycle(
  db: Db,
  tenant: Tenant,
  { ticket, claimedBy, leaseSeconds }: { ticket: Ticket; claimedBy: string; leaseSeconds: number },
): Promise<Cycle | undefined> {
  const { rows } = await db.execute<CycleRow>(sql`
    update scheduled_trigger_execution as cycle
       set fence = cycle.fence + 1, claimed_by = ${claimedBy}, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
     where id = ${ticket.id} and fence = ${ticket.fence} and status = 'processing' and not read_all and paused_at is null
       and organization_id = ${tenant.organizationId} and line_oa_id = ${tenant.lineOaId}
       and not exists (select from line_oa join organization on organization.id = line_oa.organization_id
                        where line_oa.id = cycle.line_oa_id and (line_oa.stopped_at is not null or organization.stopped_at is not null))
    returning id, fence, organization_id, line_oa_id, trigger_rule_id, scheduled_at`);
  const [row] = rows;
  if (row === undefined) return undefined;
  return { ...tenant, id: row.id, fence: row.fence, triggerRuleId: row.trigger_rule_id, scheduledAt: row.scheduled_at };
}

/** How far the people of a cycle were read. */
export type PageResult =
  | { readonly result: 'read'; readonly people: number; readonly isLast: boolean }
  /** Somebody else has it, it was paused, cancelled or given up, it is tried later, or its account is stopped. */
  | { readonly result: 'lost' };

/** People that one page of a cycle looks at, unless its reader says fewer. */
export const pageSizeOf = ({ onDate }: Pick<ScheduledTimeConfig, 'onDate'>): number =>
  onDate === undefined ? PAGE_SIZE : PEOPLE_PER_REMINDER_PAGE;

export interface PageOptions {
  readonly cycle: Cycle;
  readonly config: Pick<ScheduledTimeConfig, 'audienceId' | 'onDate'>;
  readonly leaseSeconds: number;
  /** People that it looks at, at most; left out: {@link pageSizeOf}. */
  readonly limit?: number | undefined;
  /** It gives its people up, who failed: it is no success. */
  readonly givesUp?: boolean | undefined;
  /** Gives these people what the rule does, in the same transaction; says how many of them get nothing, because of the rule's limits. */
  readonly enqueue: (tx: Tx, userIds: readonly string[]) => Promise<{ suppressed: number }>;
}

/**
 * Reads the next people behind the cursor in the caller's transaction, has them enqueued, moves the cursor and counts them. Whoever
 * joined with an id up to the mark of the cycle is met if the cursor is not past it; nobody is met twice.
 */
export async function readPage(
  tx: Tx,
  { cycle, config, leaseSeconds, enqueue, ...options }: PageOptions,
): Promise<PageResult> {
  const held = await holdCycle(tx, cycle);
  if (held === undefined) return { result: 'lost' };
  const highUserId = held.highUserId ?? (await lastUserId(tx, cycle, config));
  const limit = options.limit ?? pageSizeOf(config);
  const people = await nextPeople(tx, cycle, { config, after: held.cursorUserId, highUserId, limit });
  const chosen = people.filter(({ is_meant }) => is_meant).map(({ user_id }) => user_id);
  let suppressed = 0;
  for (let at = 0; at < chosen.length; at += PAGE_SIZE)
    suppressed += (await enqueue(tx, chosen.slice(at, at + PAGE_SIZE))).suppressed;
  const isLast = people.length < limit;
  await tx.execute(sql`
    update scheduled_trigger_execution
       set high_user_id = ${highUserId}, cursor_user_id = ${isLast ? highUserId : (people.at(-1)?.user_id ?? highUserId)},
           read_all = ${isLast},
           total_users = total_users + ${chosen.length}, enqueued_users = enqueued_users + ${chosen.length - suppressed},
           suppressed_users = suppressed_users + ${suppressed}, page_failures = case when ${options.givesUp ?? false} then page_failures else 0 end,
           lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
     where id = ${cycle.id}`);
  return { result: 'read', people: chosen.length, isLast };
}

async function holdCycle(
  tx: Tx,
  { id, fence }: Ticket,
): Promise<{ cursorUserId: string; highUserId: string | null } | undefined> {
  const { rows } = await tx.execute<{ cursor_user_id: string; high_user_id: string | null }>(sql`
    select cursor_user_id, high_user_id from scheduled_trigger_execution as cycle
     where id = ${id} and fence = ${fence} and status = 'processing' and paused_at is null and not read_all
       and not exists (select from line_oa join organization on organization.id = line_oa.organization_id
                        where line_oa.id = cycle.line_oa_id and (line_oa.stopped_at is not null or organization.stopped_at is not null))
       for no key update of cycle`);
  const [row] = rows;
  return row === undefined ? undefined : { cursorUserId: row.cursor_user_id, highUserId: row.high_user_id };
}

type Config = PageOptions['config'];

/** Friends of the account, or the friends among an audience, as rows `person`. */
const people = ({ lineOaId }: Tenant, { audienceId }: Config) =>
  audienceId === undefined
    ? sql`line_user as person where person.line_oa_id = ${lineOaId} and person.is_following`
    : sql`audience_member as member
          join audience on audience.id = member.audience_id and audience.line_oa_id = ${lineOaId} and audience.deleted_date is null
          join line_user as person on person.line_oa_id = member.line_oa_id and person.user_id = member.user_id and person.is_following
         where member.audience_id = ${audienceId} and member.line_oa_id = ${lineOaId}`;

async function lastUserId(tx: Tx, cycle: Cycle, config: Config): Promise<string> {
  const { rows } = await tx.execute<{ high: string | null }>(
    sql`select max(person.user_id) as high from ${people(cycle, config)}`,
  );
  return rows[0]?.high ?? '';
}

async function nextPeople(
  tx: Tx,
  cycle: Cycle,
  { config, after, highUserId, limit }: { config: Config; after: string; highUserId: string; limit: number },
): Promise<{ user_id: string; is_meant: boolean }[]> {
  const { rows } = await tx.execute<{ user_id: string; is_meant: boolean }>(sql`
    select person.user_id, ${isMeant(cycle, config)} as is_meant
      from ${people(cycle, config)} and person.user_id > ${after} and person.user_id <= ${highUserId}
     order by person.user_id limit ${limit}`);
  return rows;
}

/** Whether the date of a person is so many days after the day of the cycle, on the clocks of the person's zone, or else the account's. */
function isMeant({ lineOaId, scheduledAt }: Cycle, { onDate }: Config) {
  if (onDate === undefined) return sql`true`;
  const { attribute, daysBefore, yearly, leapDay } = onDate;
  const zone = sql`coalesce(usable_zone(person.timezone), (select timezone from line_oa where id = ${lineOaId}))`;
  return sql`coalesce((
    select is_kept_on((date_of_text(person.attributes ->> ${attribute}, zone) at time zone zone)::date,
                      (${scheduledAt}::timestamptz at time zone zone)::date + ${daysBefore}::integer, ${yearly}, ${leapDay})
      from ${zone} as zone), false)`;
}
