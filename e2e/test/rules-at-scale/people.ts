import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { unhurried } from './unhurried.ts';

/** As another service would write them: what everybody is like, and what one of them looks like to plain SQL. */
const SCHEMA = `
  create schema proof;
  -- thousands of different sets of attributes; a key may be absent, null, or of another type than most have
  create function proof.attributes(k int) returns jsonb language sql as $$
    select jsonb_strip_nulls(jsonb_build_object(
             'tier', (array[null, 'bronze', 'silver', 'gold', 'gold'])[1 + k % 5],
             'points', case when k % 13 = 0 then '"many"'::jsonb else to_jsonb(k % 1000) end,
             'city', (array['Bangkok', 'เชียงใหม่', 'Oslo', null])[1 + k / 3 % 4],
             'optIn', (array[true, false, null])[1 + k % 3],
             'tags', (array['[]', '["vip"]', '["beta", "vip"]', '["new"]', null, '"none"']::jsonb[])[1 + k / 5 % 6],
             'joined', (array[to_char(current_date - 400, 'YYYY-MM-DD'), to_char(current_date - 10, 'YYYY-MM-DD'),
                              to_char(current_date + 10, 'YYYY-MM-DD'), '2024-02-29', null, 'soon'])[1 + k / 7 % 6],
             'nick', (array['😀 ไทย', 'Åsa', null])[1 + k / 11 % 3]))
        || case when k % 19 = 0 then '{"city": null}'::jsonb else '{}' end
  $$;
  create function proof.number(value jsonb) returns numeric language sql immutable as $$
    select case when jsonb_typeof(value) = 'number' then value::numeric end $$;
  create function proof.words(value jsonb) returns text language sql immutable as $$
    select case when jsonb_typeof(value) = 'string' then value #>> '{}' end $$;
  create function proof.list(value jsonb) returns jsonb language sql immutable as $$
    select case when jsonb_typeof(value) = 'array' then value end $$;
  create function proof.day(value jsonb) returns date language sql immutable as $$
    select case when proof.words(value) ~ '^\\d{4}-\\d\\d-\\d\\d$' then (value #>> '{}')::date end $$;
  create table proof.person (user_id text collate "C" primary key, n int not null);
  create table proof.told (event_id uuid primary key);
  create table proof.expected (line_oa_id bigint, trigger_rule_id bigint, user_id text collate "C", event_id uuid, decision text, reason_code text);
  create index on proof.expected (trigger_rule_id, user_id) where decision in ('fired', 'scheduled', 'observed');`;

export async function preparePeople(db: Db, people: number): Promise<void> {
  await db.$client.query(SCHEMA);
  await unhurried(db, (client) =>
    client.query(
      `insert into proof.person select 'U' || lpad(to_hex(n), 32, '0'), n from generate_series(0, $1::int - 1) as n`,
      [people],
    ),
  );
}

/** The first so many people, without a word to anybody; one in seventeen has blocked the account. */
export const insertPeople = (db: Db, { organizationId, lineOaId }: Tenant, count: number): Promise<void> =>
  unhurried(db, async (client) => {
    await client.query('begin; set local session_replication_role = replica');
    await client.query(
      `insert into line_user (organization_id, line_oa_id, user_id, is_following, attributes)
       select $1, $2, user_id, n % 17 <> 0, proof.attributes(n) from proof.person where n < $3`,
      [organizationId, lineOaId, count],
    );
    await client.query('commit; analyze line_user, proof.person');
  });

/** Who is changed by a statement, and into what: people change when their shift does. */
export interface Wave {
  readonly shift: number;
  /** One person in so many. */
  readonly oneIn: number;
}

/** One statement over the people of all tenants. One person in eleven stays as they are. @returns How many it touched. */
export async function changePeople(db: Db, { shift, oneIn }: Wave): Promise<number> {
  const { rowCount } = await unhurried(db, (client) =>
    client.query(
      `update line_user as known
        set attributes = proof.attributes(n + case when n % 11 = 0 then 0 else $1::int end)
                      || case when known.attributes ? 'vip' then jsonb_build_object('vip', known.attributes -> 'vip') else '{}' end
       from proof.person where person.user_id = known.user_id and n / 7 % $2::int = 0`,
      [shift, oneIn],
    ),
  );
  return rowCount ?? 0;
}
