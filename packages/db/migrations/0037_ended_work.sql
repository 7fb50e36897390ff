-- How far the removal of ended work has come in each table that it walks by its primary key. Whoever holds the row removes; it moves in the
-- transaction that removes, so a walk that was killed goes on where it ended, in any process.
create table removal_walk (
  table_name text collate "C" primary key constraint removal_walk_table_known check (table_name in ('scheduled_action', 'delivery')),
  -- what ended before this, in product time, is removed by this walk; null: there was none yet
  ended_before timestamptz,
  -- the last row that it looked at; null: it came to its end
  after_id bigint
);
insert into removal_walk (table_name) values ('scheduled_action'), ('delivery');

-- Nobody may delete work but by this, and by this nothing that has not ended, and nothing of a campaign. What waited for an action and what people
-- did to it go along. The caller holds the rows. Returns how many attempts of the deliveries there were.
create function remove_ended_work(action_ids bigint[], delivery_ids bigint[]) returns int
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  attempts int;
begin
  if exists (select from scheduled_action where id = any(action_ids) and status not in ('done', 'failed', 'cancelled'))
     or exists (select from delivery where id = any(delivery_ids) and (status in ('planned', 'sending') or kind = 'campaign')) then
    raise exception 'only work that has ended is removed, and nothing of a campaign' using errcode = 'invalid_parameter_value';
  end if;
  delete from delivery_attempt where delivery_id = any(delivery_ids);
  get diagnostics attempts = row_count;
  delete from delivery where id = any(delivery_ids);
  delete from scheduled_action where id = any(action_ids);
  return attempts;
end $$;
revoke execute on function remove_ended_work(bigint[], bigint[]) from public;
