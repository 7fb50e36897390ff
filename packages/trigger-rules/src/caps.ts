import type { Tenant } from '@dueline/contracts';
import { column, type Db, inTenant, type SQL, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { within } from './author.ts';

/** At most `maxMessages` to one person within any `windowSeconds` seconds of product time. */
export interface FrequencyCap {
  readonly maxMessages: number;
  readonly windowSeconds: number;
}

/** Longest window of a cap in seconds: 365 days. Ours, as the other bounds: a tally of a person stays one small row. */
const MAX_WINDOW_SECONDS = 31_536_000;
const capSchema = z.strictObject({
  maxMessages: z.number().int().min(1).max(1_000),
  windowSeconds: z.number().int().min(60).max(MAX_WINDOW_SECONDS),
});

/**
 * Caps what the rules of an account send to one person: one cap for each length of window, and all must leave room. What was sent before the
 * account had its first cap is not known, campaigns apart. `maxMessages` null takes the cap of that window away.
 *
 * @throws PermanentError when a number is out of bounds.
 */
export async function setFrequencyCap(
  on: Db | Tx,
  tenant: Tenant,
  { maxMessages, windowSeconds }: { maxMessages: number | null; windowSeconds: number },
): Promise<void> {
  const parsed = capSchema.safeParse({ maxMessages: maxMessages ?? 1, windowSeconds });
  if (!parsed.success) {
    const bounds = 'a cap is 1 to 1,000 messages in 60 s to 365 days';
    throw new PermanentError(bounds);
  }
  await within(on, tenant, async (tx) => {
    if (maxMessages === null)
      await tx.execute(sql`
        delete from frequency_cap where line_oa_id = ${tenant.lineOaId} and window_seconds = ${windowSeconds}`);
    else
      await tx.execute(sql`
        insert into frequency_cap (organization_id, line_oa_id, window_seconds, max_messages)
        values (${tenant.organizationId}, ${tenant.lineOaId}, ${windowSeconds}, ${maxMessages})
            on conflict (line_oa_id, window_seconds) do update set max_messages = excluded.max_messages`);
  });
}

/** The caps of an account, the shortest window first. */
export function listFrequencyCaps(db: Db, tenant: Tenant): Promise<FrequencyCap[]> {
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<{ max: number; seconds: number }>(sql`
      select max_messages as max, window_seconds as seconds from frequency_cap order by window_seconds`);
    return rows.map(({ max, seconds }) => ({ maxMessages: max, windowSeconds: seconds }));
  });
}

interface Person {
  readonly lineOaId: string;
  readonly userId: string;
}
const personKey = ({ lineOaId, userId }: Person): string => `${lineOaId}:${userId}`;

/** How many more messages each of some people may be sent, as their decisions go. */
export interface Room {
  /** Takes a place. False: there is none. A person of an account without caps always has one. */
  take(person: Person): boolean;
  /** Gives a place back that was taken and is not used. */
  giveBack(person: Person): void;
  /** Writes down what was taken. */
  spend(tx: Tx): Promise<void>;
}

/**
 * Holds what was sent to these people until the transaction ends, and counts how much room the caps of their accounts leave: two
 * decisions about one person cannot both take the last place. Counted are sends that rules decided on (however many messages one has, and
 * whatever became of it) and campaigns whose people were frozen within the window, unless they were cancelled before they got to the person.
 *
 * Locks in the order of account and person, so that two transactions never deadlock here.
 */
export async function holdRoom(tx: Tx, people: readonly (Person & Tenant)[]): Promise<Room> {
  const left = people.length === 0 ? new Map<string, number>() : await countRoom(tx, people);
  const taken = new Map<string, { person: Person; count: number }>();
  return {
    take: (person) => {
      const key = personKey(person);
      const room = left.get(key);
      if (room === undefined) return true;
      const { count } = taken.get(key) ?? { count: 0 };
      if (count >= room) return false;
      taken.set(key, { person, count: count + 1 });
      return true;
    },
    giveBack: (person) => {
      const of = taken.get(personKey(person));
      if (of !== undefined) of.count -= 1;
    },
    spend: (tx) => writeTaken(tx, [...taken.values()]),
  };
}

/** Whether a `campaign` whose people are frozen counts for the caps of this person: it was not cancelled before it got to them. */
export const campaignReaches = (userId: SQL): SQL => sql`
  (campaign.cast_type = 'broadcast' or exists (
    select from (select user_ids, chunk_no from campaign_chunk as chunk
                  where chunk.campaign_id = campaign.id and chunk.user_ids[1] <= ${userId}
                  order by chunk.user_ids[1] desc limit 1) as nearest
     where ${userId} = any(nearest.user_ids)
       and (campaign.status <> 'cancel' or exists (
         select from delivery where delivery.campaign_id = campaign.id and delivery.chunk_no = nearest.chunk_no
            and delivery.status in ('accepted', 'unknown')))))`;

async function countRoom(tx: Tx, people: readonly (Person & Tenant)[]): Promise<Map<string, number>> {
  const distinct = [...new Map(people.map((person) => [personKey(person), person])).values()];
  const col = (read: (person: Person & Tenant) => string, type: 'bigint' | 'text') => column(distinct.map(read), type);
  const { rows } = await tx.execute<{ line_oa_id: string; user_id: string; room: number }>(sql`
    with held as (
      insert into message_tally as tally (organization_id, line_oa_id, user_id)
      select * from unnest(${col((of) => of.organizationId, 'bigint')}, ${col((of) => of.lineOaId, 'bigint')},
                           ${col((of) => of.userId, 'text')}) as person (organization_id, line_oa_id, user_id)
       where exists (select from frequency_cap as cap where cap.line_oa_id = person.line_oa_id)
       order by line_oa_id, user_id
          on conflict (line_oa_id, user_id) do update
         set sent_at = array(select at from unnest(tally.sent_at) as at
                              where at > app_now() - make_interval(secs => (
                                select max(window_seconds) from frequency_cap as cap where cap.line_oa_id = tally.line_oa_id)))
      returning line_oa_id, user_id, sent_at
    )
    select held.line_oa_id, held.user_id,
           min(cap.max_messages
             - (select count(*) from unnest(held.sent_at) as at where at > since.at)
             - (select count(*) from campaign
                 where campaign.line_oa_id = held.line_oa_id and campaign.frozen_at > since.at
                   and ${campaignReaches(sql`held.user_id`)}))::int as room
      from held
      join frequency_cap as cap on cap.line_oa_id = held.line_oa_id
     cross join lateral (select app_now() - make_interval(secs => cap.window_seconds) as at) as since
     group by held.line_oa_id, held.user_id`);
  return new Map(rows.map(({ line_oa_id, user_id, room }) => [`${line_oa_id}:${user_id}`, room]));
}

async function writeTaken(tx: Tx, taken: readonly { person: Person; count: number }[]): Promise<void> {
  const some = taken.filter(({ count }) => count > 0);
  if (some.length === 0) return;
  await tx.execute(sql`
    update message_tally as tally set sent_at = sent_at || array_fill(app_now(), array[taken.count])
      from unnest(${column(
        some.map(({ person }) => person.lineOaId),
        'bigint',
      )},
                  ${column(
                    some.map(({ person }) => person.userId),
                    'text',
                  )},
                  ${column(
                    some.map(({ count }) => count),
                    'integer',
                  )}) as taken (line_oa_id, user_id, count)
     where tally.line_oa_id = taken.line_oa_id and tally.user_id = taken.user_id`);
}
