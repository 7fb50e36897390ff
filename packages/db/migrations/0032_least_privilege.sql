-- The apps own nothing: what the scheduler does to the months of history it does by these, as their owner, and to no other table.
create function history_key(history text) returns text language plpgsql immutable as $$
begin
  case history
    when 'attribute_change' then return 'occurred_at';
    when 'event_archive' then return 'decided_at';
    when 'trigger_log' then return 'created_date';
    else raise exception '% is not split by months', history using errcode = 'invalid_parameter_value';
  end case;
end $$;

-- As make_partitions, up to a hundred years ahead.
create function make_history_months(history text, months_ahead int) returns int
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  partition_key text := history_key(history);
begin
  if months_ahead not between 0 and 1200 then
    raise exception '% months ahead are not made', months_ahead using errcode = 'invalid_parameter_value';
  end if;
  return make_partitions(history::regclass, partition_key, months_ahead);
end $$;

-- Detaches the oldest month when all of its rows are older than so many whole months before this one. 'nothing': it is not that old; 'gap':
-- not every month that is to be kept is there, so the clock may have jumped; else 'detached'. The lock is that of make_partitions.
create function detach_history_month(history text, keep_months int) returns text
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  name_pattern text := '^' || history || '_[0-9]{4}_[0-9]{2}$';
  this_month int := extract(year from app_now() at time zone 'UTC') * 12 + extract(month from app_now() at time zone 'UTC');
  offsets int[];
  oldest text;
begin
  perform history_key(history);
  if keep_months < 1 then
    raise exception 'a month that is not over cannot be pruned' using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock(hashtextextended('make_partitions:' || history, 0));
  select array_agg(number - this_month order by number), (array_agg(name order by number))[1] into offsets, oldest
    from (select relname::text as name, split_part(right(relname, 7), '_', 1)::int * 12 + right(relname, 2)::int as number
            from pg_inherits join pg_class on pg_class.oid = inhrelid
           where inhparent = history::regclass and relname ~ name_pattern) as month;
  if oldest is null or offsets[1] >= -keep_months then
    return 'nothing';
  end if;
  if exists (select from generate_series(-keep_months, 0) as wanted where wanted <> all (offsets)) then
    return 'gap';
  end if;
  execute format('alter table %I detach partition %I', history, oldest);
  execute format('alter table %I rename to %I', oldest, oldest || '_pruned');
  return 'detached';
end $$;

-- Drops a month that was detached; fine when somebody else just did.
create function drop_history_month(detached text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if detached !~ '^[a-z_]+_[0-9]{4}_[0-9]{2}_pruned$' or exists (select from pg_inherits where inhrelid = to_regclass('public.' || detached)) then
    raise exception '% is no month that was detached', detached using errcode = 'invalid_parameter_value';
  end if;
  perform history_key(regexp_replace(detached, '_[0-9]{4}_[0-9]{2}_pruned$', ''));
  execute format('drop table if exists public.%I', detached);
end $$;

revoke execute on function make_history_months(text, int), detach_history_month(text, int), drop_history_month(text) from public;

-- The same as the one before it, told of the account what it needs: a whole row can be read only by who may read its secrets too.
create function after_quiet_hours(at timestamptz, account_id bigint, account_zone text, quiet_zone text, quiet_from text, quiet_to text,
                                  spread_minutes integer, of_user text, row_id bigint) returns timestamptz language sql stable as $$
  select quiet_until(at,
           case quiet_zone when 'account' then account_zone
             else coalesce((select usable_zone(timezone) from line_user where line_oa_id = account_id and user_id = of_user), account_zone) end,
           quiet_from, quiet_to)
       + spread(of_user, row_id, spread_minutes, mod(
           (extract(epoch from quiet_from::time - quiet_to::time) + 86400)::int, 86400) * interval '1 second')
$$;
