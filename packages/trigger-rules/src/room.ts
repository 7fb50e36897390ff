import type { Tenant } from '@dueline/contracts';
import { column, type SQL, sql, type Tx } from '@dueline/db';
import type { FrequencyCap } from './caps.ts';

interface Person {
  readonly lineOaId: string;
  readonly userId: string;
}
const personKey = ({ lineOaId, userId }: Person): string => `${lineOaId}:${userId}`;

/** What asks for a place: whose, and for when it was meant. */
interface Asking extends Person {
  /** In microseconds of the epoch, the one that counts first; left out: for now. */
  readonly meantFor?: readonly number[];
}

/** How many more messages each of some people may be sent, as their decisions go. */
export interface Room {
  /** Takes a place. False: there is none. A person of an account without caps always has one. */
  take(asking: Asking): boolean;
  /** Gives the place back that was taken last and is not used. */
  giveBack(person: Person): void;
  /** Writes down what was taken. */
  spend(tx: Tx): Promise<void>;
}

const SECOND = 1_000_000;
/** A message counts when it was meant to go, if it is late by no more than this part of the shortest window. */
export const LATE_PART = 0.01;

/**
 * When a message counts that is decided at `decided`: when it was meant to go, or now when that is longer ago than a hundredth of the shortest
 * window. How many milliseconds a decision takes differs from day to day: by when they were decided, a message of each noon would often find that of
 * the noon before within its 24 hours. What is really late counts when it really goes, so that a backlog exceeds no cap. All in microseconds. Pure.
 */
export function countedAt(
  caps: readonly Pick<FrequencyCap, 'windowSeconds'>[],
  { decided, meantFor = [] }: { readonly decided: number; readonly meantFor?: readonly number[] | undefined },
): number {
  const shortest = Math.min(...caps.map(({ windowSeconds }) => windowSeconds));
  const earliest = decided - shortest * SECOND * LATE_PART;
  return meantFor.find((at) => at <= decided && at >= earliest) ?? decided;
}

/** How many more messages caps leave room for at an instant, after these, all in microseconds. Pure. */
export const roomAt = (caps: readonly FrequencyCap[], sent: readonly number[], at: number): number =>
  Math.min(
    ...caps.map(
      ({ maxMessages, windowSeconds }) =>
        maxMessages - sent.filter((before) => before > at - windowSeconds * SECOND).length,
    ),
  );

/**
 * Holds what was sent to these people until the transaction ends, and counts how much room the caps of their accounts leave: two
 * decisions about one person cannot both take the last place. Counted are sends that rules decided on (however many messages one has, and
 * whatever became of it), each at the instant that {@link countedAt} says, and campaigns whose people were frozen within the window, unless they
 * were cancelled before they got to the person.
 *
 * Locks in the order of account and person, so that two transactions never deadlock here.
 */
export async function holdRoom(tx: Tx, people: readonly (Person & Tenant)[]): Promise<Room> {
  const held = people.length === 0 ? new Map<string, Held>() : await holdTallies(tx, people);
  return {
    take: (asking) => {
      const of = held.get(personKey(asking));
      if (of === undefined) return true;
      const at = countedAt(of.caps, { decided: of.now, meantFor: asking.meantFor });
      if (of.caps.some((cap) => roomAt([cap], [...cap.edge, ...of.taken], at) <= 0)) return false;
      of.taken.push(at);
      return true;
    },
    giveBack: (person) => {
      held.get(personKey(person))?.taken.pop();
    },
    spend: (tx) => writeTaken(tx, [...held.values()]),
  };
}

/** What of the caps is left to a person, and what is taken, in microseconds. */
interface Held {
  readonly person: Person;
  readonly caps: readonly CapLeft[];
  readonly now: number;
  readonly taken: number[];
}

/** A cap with as many messages as there is room for now; `edge`: what was sent just before its window, and counts for who asks as of an earlier instant. */
interface CapLeft extends FrequencyCap {
  readonly edge: readonly number[];
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

/** Arrays in the order of the caps, and of what lies at their edges; null: nothing does. */
type TallyRow = {
  line_oa_id: string;
  user_id: string;
  now: number;
  windows: number[];
  room: number[];
  edge_windows: number[] | null;
  edge_instants: number[] | null;
};

/** Instants as seconds of the epoch; a double tells microseconds apart. */
const micros = (seconds: number): number => Math.round(seconds * SECOND);

async function holdTallies(tx: Tx, people: readonly (Person & Tenant)[]): Promise<Map<string, Held>> {
  const distinct = [...new Map(people.map((person) => [personKey(person), person])).values()];
  const col = (read: (person: Person & Tenant) => string, type: 'bigint' | 'text') => column(distinct.map(read), type);
  const before = (seconds: SQL) => sql`app_now() - make_interval(secs => ${seconds})`;
  // as far back as any message is asked about: one that is late asks from the instant for which it was meant
  const edgeOf = (seconds: SQL) => before(sql`${1 + LATE_PART}::float8 * ${seconds}`);
  const longest = (lineOaId: SQL) =>
    sql`(select max(window_seconds) from frequency_cap as cap where cap.line_oa_id = ${lineOaId})`;
  const { rows } = await tx.execute<TallyRow>(sql`
    with held as (
      insert into message_tally as tally (organization_id, line_oa_id, user_id)
      select * from unnest(${col((of) => of.organizationId, 'bigint')}, ${col((of) => of.lineOaId, 'bigint')},
                           ${col((of) => of.userId, 'text')}) as person (organization_id, line_oa_id, user_id)
       where exists (select from frequency_cap as cap where cap.line_oa_id = person.line_oa_id)
       order by line_oa_id, user_id
          on conflict (line_oa_id, user_id) do update
         set sent_at = array(select at from unnest(tally.sent_at) as at where at > ${edgeOf(longest(sql`tally.line_oa_id`))})
      returning line_oa_id, user_id, sent_at
    )
    select held.line_oa_id, held.user_id, date_part('epoch', app_now()) as now, left_now.windows, left_now.room,
           edge.windows as edge_windows, edge.instants as edge_instants
      from held
     cross join lateral (
       select held.sent_at || array(
                select campaign.frozen_at from campaign
                 where campaign.line_oa_id = held.line_oa_id and campaign.frozen_at > ${edgeOf(longest(sql`held.line_oa_id`))}
                   and ${campaignReaches(sql`held.user_id`)}) as instants
       offset 0) as sent
     cross join lateral (
       select array_agg(window_seconds) as windows,
              array_agg((max_messages - (select count(*) from unnest(sent.instants) as at where at > ${before(sql`window_seconds`)}))::int) as room
         from frequency_cap as cap where cap.line_oa_id = held.line_oa_id) as left_now
     cross join lateral (
       select array_agg(window_seconds) as windows, array_agg(date_part('epoch', at)) as instants
         from frequency_cap as cap cross join unnest(sent.instants) as at
        where cap.line_oa_id = held.line_oa_id
          and at <= ${before(sql`window_seconds`)} and at > ${edgeOf(sql`window_seconds`)}) as edge`);
  return new Map(rows.map((row) => [`${row.line_oa_id}:${row.user_id}`, heldOf(row)]));
}

function heldOf({ line_oa_id, user_id, now, windows, room, edge_windows, edge_instants }: TallyRow): Held {
  const caps = windows.map((windowSeconds, n) => ({
    ...{ windowSeconds, maxMessages: room[n] ?? 0 },
    edge: (edge_instants ?? []).filter((_, at) => edge_windows?.[at] === windowSeconds).map(micros),
  }));
  return { person: { lineOaId: line_oa_id, userId: user_id }, caps, now: micros(now), taken: [] };
}

async function writeTaken(tx: Tx, held: readonly Held[]): Promise<void> {
  const places = held.flatMap(({ person, taken }) => taken.map((at) => ({ ...person, at: String(at) })));
  if (places.length === 0) return;
  const col = (read: (place: (typeof places)[number]) => string, type: 'bigint' | 'text') =>
    column(places.map(read), type);
  await tx.execute(sql`
    update message_tally as tally set sent_at = sent_at || taken.at
      from (select line_oa_id, user_id, array_agg(timestamptz 'epoch' + micros * interval '1 microsecond') as at
              from unnest(${col((of) => of.lineOaId, 'bigint')}, ${col((of) => of.userId, 'text')},
                          ${col((of) => of.at, 'bigint')}) as place (line_oa_id, user_id, micros)
             group by line_oa_id, user_id) as taken
     where tally.line_oa_id = taken.line_oa_id and tally.user_id = taken.user_id`);
}
