-- Product time. Plainly now() in production; tests and the demo replace it by one that adds an offset.
-- STABLE, so that `execute_at <= app_now()` is an index condition.
create function app_now() returns timestamptz language sql stable parallel safe as $$ select now() $$;

-- Says why a write that a guard caught is refused. Its arguments are the moves of the table, each 'from>to'.
create function guard_row() returns trigger language plpgsql as $$
begin
  if new.fence < old.fence then
    raise exception '% %: the fence fell from % to %', tg_table_name, old.id, old.fence, new.fence using errcode = 'DL001';
  end if;
  if not ((old.status || '>' || new.status) = any (tg_argv)) then
    raise exception '% %: % -> % is not a move', tg_table_name, old.id, old.status, new.status using errcode = 'DL002';
  end if;
  raise exception '% %: % -> % without a new fence', tg_table_name, old.id, old.status, new.status using errcode = 'DL003';
end $$;

-- Refuses moves that the product forbids, whoever writes: a worker, a person at psql, another service. `moves` are all that it allows,
-- each 'from>to'; a change of fence within a status is the move 's>s'. The condition decides: a function that is called for each
-- row would cost more than the write, and a BEFORE trigger locks each row once more.
create procedure guard_moves(guarded regclass, variadic moves text[]) language plpgsql as $$
begin
  execute format('create trigger %I after update on %s for each row
      when ((old.status is distinct from new.status or old.fence is distinct from new.fence)
        and (new.fence <= old.fence or (old.status || ''>'' || new.status) <> all (%L::text[])))
      execute function guard_row(%s)',
    guarded::text || '_guard', guarded, moves, (select string_agg(quote_literal(move), ', ') from unnest(moves) as move));
end $$;

-- Refuses everything that its trigger's WHEN lets through; the argument says what was touched.
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is refused: %', tg_table_name, tg_argv[0] using errcode = 'DL004';
end $$;

-- Monthly partitions of `parent`, by UTC month of its partition key, from the month of app_now() to `months_ahead` later, and
-- a default one: a writer must never fail because nobody made its month. Rows that landed there, by a clock that was wrong or because
-- nobody made their month, move into their month, whichever it is, as soon as it is made here. Created apart and attached, because CREATE
-- TABLE … PARTITION OF would lock out every reader and writer; who holds the default one longer than two seconds has it tried again later.
create function make_partitions(parent regclass, partition_key text, months_ahead int) returns int language plpgsql as $$
declare
  first_month timestamptz := date_trunc('month', app_now(), 'UTC');
  catch_all text := parent::text || '_default';
  wanted timestamptz[];
  strays timestamptz[];
  lower_bound timestamptz;
  upper_bound timestamptz;
  child text;
  unread name;
  made int := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('make_partitions:' || parent::text, 0));
  perform set_config('lock_timeout', '2s', true);
  if to_regclass(catch_all) is null then
    execute format('create table %I partition of %s default', catch_all, parent);
  end if;
  -- a column that bears no year that a name can bear stays where it is
  execute format('select array(select distinct date_trunc(''month'', %1$I, ''UTC'') from %2$I
                   where %1$I >= ''0001-01-01Z'' and %1$I < ''9999-12-01Z'' order by 1 limit 24)', partition_key, catch_all) into strays;
  wanted := array(select (first_month at time zone 'UTC' + make_interval(months => month)) at time zone 'UTC'
                    from generate_series(0, months_ahead) as month
                   union select unnest(strays) order by 1);
  foreach lower_bound in array wanted loop
    upper_bound := (lower_bound at time zone 'UTC' + interval '1 month') at time zone 'UTC';
    child := parent::text || to_char(lower_bound at time zone 'UTC', '_YYYY_MM');
    if to_regclass(child) is null then
      execute format('create table %I (like %s including defaults including constraints)', child, parent);
      for unread in select attname from pg_attribute where attrelid = parent and attnum > 0 and attstattarget = 0 loop
        execute format('alter table %I alter column %I set statistics 0', child, unread); -- LIKE does not copy it
      end loop;
      execute format('lock table %I in access exclusive mode', catch_all); -- nothing may land there between move and attach
      execute format('with late as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from late',
                     catch_all, partition_key, lower_bound, partition_key, upper_bound, child);
      execute format('alter table %s attach partition %I for values from (%L) to (%L)', parent, child, lower_bound, upper_bound);
      made := made + 1;
    end if;
  end loop;
  return made;
end $$;

-- The role that a tenant-scoped handle takes on for its transaction: row level security binds it.
do $$ begin
  if not exists (select from pg_roles where rolname = 'dueline_tenant') then
    create role dueline_tenant nologin;
  end if;
exception when duplicate_object or unique_violation then null; -- another database of this cluster made it at the same moment
end $$;
do $$ begin
  execute format('grant dueline_tenant to %I', current_user);
exception when unique_violation then null; -- granted by another database's migration at the same moment
end $$;
grant usage on schema public to dueline_tenant;
