import { type SQL, sql } from 'drizzle-orm';

/**
 * Of the rows of the CTE `held` (id, line_oa_id, user_id), for each person of whom an older event is undecided and not among them: the oldest such,
 * in the template of a statement. What comes behind it has to wait for it: somebody has it in hand at this moment, or it is found by a later look.
 *
 * Each person is looked up once, however many of their events are held; `id + 0` so that no plan finds the least of all ids instead.
 *
 * @param which Says which older events count, of `older`.
 */
export const firstAhead = (held: SQL, which: SQL): SQL => sql`
  select person.line_oa_id, person.user_id, ahead.id
    from (select line_oa_id, user_id, max(id) as newest from ${held} group by line_oa_id, user_id offset 0) as person
   cross join lateral (
     select min(older.id + 0) as id from event_outbox as older
      where older.line_oa_id = person.line_oa_id and older.user_id = person.user_id and older.id < person.newest
        and older.status <> 'dead' and ${which} and older.id not in (select id from ${held})) as ahead
   where ahead.id is not null`;

/** Where the rows of `held` lie that have nothing ahead of them, by the CTE `ahead` of {@link firstAhead}. */
export const inOrder = (held: SQL): SQL => sql`
  array(select held.ctid from ${held} as held left join ahead using (line_oa_id, user_id) where ahead.id is null or held.id < ahead.id)`;
