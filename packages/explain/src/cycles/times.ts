import { column, sql, type Tx } from '@dueline/db';
import { loadMoments, type MomentOfPerson } from '../moments.ts';
import type { PersonThen } from '../people-then.ts';
import type { TimedRule } from './timed-rule.ts';

/** When an action is due, in microseconds, and until when it is quiet then; null: it is not. */
export interface DueTime {
  readonly at: number;
  readonly quietUntil: number | null;
}

/** What clocks and calendars say of the people of a page, by the functions of the database that the decisions ask. */
export interface Times {
  /** How the clocks show the n-th cycle to a person; undefined: it was not asked for. */
  moment(person: PersonThen['user'], n: number): MomentOfPerson | undefined;
  /** Whether the n-th cycle is on the day of a person's date; true where the rule names none. */
  isOnDay(person: PersonThen['user'], n: number): boolean;
  /** When the date is that the action of a person hangs on; null: there is none. */
  date(person: PersonThen['user']): DueTime | null;
}

/** Zones whose moments are kept from page to page; other services write zones, so that they need not be few. */
const MAX_ZONES = 100;

/** Reads the times of a page of people as they were at some instants; what was read of zones is kept for later pages. */
export function createTimes(of: TimedRule): (tx: Tx, people: readonly PersonThen['user'][]) => Promise<Times> {
  const { rule, cycles, account } = of;
  const moments = new Map<string | null, readonly MomentOfPerson[]>();
  return async (tx, people) => {
    if (moments.size > MAX_ZONES) moments.clear();
    const zones = [...new Set(people.map(({ timezone }) => timezone))].filter((zone) => !moments.has(zone));
    for (const zone of zones)
      moments.set(zone, await loadMoments(tx, account, { rule, met: cycles.map((at) => ({ at, zone })) }));
    const days = await loadDays(tx, of, people);
    const dates = await loadDates(tx, of, people);
    return {
      moment: ({ timezone }, n) => moments.get(timezone)?.[n],
      isOnDay: (person, n) => days === undefined || (days.get(keyOf(person, dayTextOf(of, person)))?.has(n) ?? false),
      date: (person) => dates.get(keyOf(person, dateTextOf(of, person))) ?? null,
    };
  };
}

type Person = PersonThen['user'];

/** A text that the database may read a date from: what an attribute says, as `->>` does where that is a text. */
const textOf = ({ attributes }: Person, name: string): string | undefined => {
  const value = attributes.get(name);
  return typeof value === 'string' ? value : undefined;
};
const dayTextOf = ({ rule }: TimedRule, person: Person): string | undefined =>
  rule.sourceConfig.onDate && textOf(person, rule.sourceConfig.onDate.attribute);
/** Of a booking, whose it is. */
const dateTextOf = ({ delay }: TimedRule, person: Person): string | undefined => {
  if (delay?.mode !== 'relativeToDate') return undefined;
  return 'attribute' in delay.to ? textOf(person, delay.to.attribute) : person.userId;
};

const keyOf = ({ timezone }: Person, text: string | undefined): string => JSON.stringify([text, timezone]);

/** Each text and zone once. */
function askedOf(people: readonly Person[], read: (person: Person) => string | undefined) {
  const asked = new Map<string, { text: string; zone: string | null }>();
  for (const person of people) {
    const text = read(person);
    if (text !== undefined) asked.set(keyOf(person, text), { text, zone: person.timezone });
  }
  const all = [...asked.values()];
  return {
    keys: [...asked.keys()],
    rows: sql`unnest(${column(
      all.map(({ text }) => text),
      'text',
    )}, ${column(
      all.map(({ zone }) => zone),
      'text',
    )}) with ordinality as asked (text, zone, n)`,
  };
}

/** Which cycles are on the day of each date; undefined: the rule names none. */
async function loadDays(tx: Tx, of: TimedRule, people: readonly Person[]) {
  const { onDate } = of.rule.sourceConfig;
  if (onDate === undefined) return undefined;
  const { keys, rows: asked } = askedOf(people, (person) => dayTextOf(of, person));
  if (keys.length === 0) return new Map<string, ReadonlySet<number>>();
  const { rows } = await tx.execute<{ n: string; cycles: number[] }>(sql`
    select asked.n, array_agg(cycle.n::integer) as cycles
      from ${asked}
     cross join lateral (select coalesce(usable_zone(asked.zone), ${of.account.timezone}) as name) as zone
     cross join lateral (select (date_of_text(asked.text, zone.name) at time zone zone.name)::date as day offset 0) as kept
      join unnest(${column([...of.cycles], 'bigint')}) with ordinality as cycle (at, n)
        on is_kept_on(kept.day, (to_timestamp(cycle.at / 1000000) at time zone zone.name)::date + ${onDate.daysBefore}::integer,
                      ${onDate.yearly}::boolean, ${onDate.leapDay}::text)
     group by asked.n`);
  return new Map(rows.map(({ n, cycles }) => [keys[Number(n) - 1] ?? '', new Set(cycles.map((cycle) => cycle - 1))]));
}

/** When each date is that actions hang on. */
async function loadDates(tx: Tx, of: TimedRule, people: readonly Person[]): Promise<ReadonlyMap<string, DueTime>> {
  const { delay, account } = of;
  const { keys, rows: asked } = askedOf(people, (person) => dateTextOf(of, person));
  if (delay?.mode !== 'relativeToDate' || keys.length === 0) return new Map();
  const start =
    'attribute' in delay.to
      ? sql`date_of_text(asked.text, zone.person)`
      : sql`(select starts_at from booking where id = ${delay.to.bookingId} and cancelled_date is null
                and line_oa_id = ${account.lineOaId} and user_id = asked.text)`;
  const micros = (instant: ReturnType<typeof sql>) => sql`(extract(epoch from ${instant}) * 1000000)::bigint`;
  const { rows } = await tx.execute<{ n: string; at: string; quiet: string | null }>(sql`
    select asked.n, ${micros(sql`due.at`)} as at,
           ${micros(sql`quiet_until(due.at, case account.quiet_zone when 'account' then account.timezone else zone.person end,
                                    account.quiet_from, account.quiet_to)`)} as quiet
      from ${asked}
      join line_oa as account on account.id = ${account.lineOaId} and account.organization_id = ${account.organizationId}
     cross join lateral (select coalesce(usable_zone(asked.zone), account.timezone) as person) as zone
     cross join lateral (select delay_due(${JSON.stringify(delay)}::jsonb, ${start}, zone.person) as at offset 0) as due
     where due.at is not null`);
  return new Map(
    rows.map(({ n, at, quiet }) => [
      keys[Number(n) - 1] ?? '',
      { at: Number(at), quietUntil: quiet === null ? null : Number(quiet) },
    ]),
  );
}
