-- The second wall behind explicit tenant predicates. The owner (workers, which serve all tenants) passes; the role that a
-- tenant-scoped handle takes on sees and writes the rows of its organization and account only.
create function current_organization_id() returns bigint language sql stable as
  $$ select nullif(current_setting('app.organization_id', true), '')::bigint $$;
create function current_line_oa_id() returns bigint language sql stable as
  $$ select nullif(current_setting('app.line_oa_id', true), '')::bigint $$;

-- Shows and gives the tenant's role the rows of its account, of tables that name organization and account.
create procedure isolate_tenants(variadic tenant_tables text[]) language plpgsql as $$
declare
  tenant_table text;
begin
  foreach tenant_table in array tenant_tables loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('create policy tenant_isolation on %I to dueline_tenant
      using (organization_id = current_organization_id() and line_oa_id = current_line_oa_id())', tenant_table);
    execute format('grant select, insert, update, delete on %I to dueline_tenant', tenant_table);
  end loop;
end $$;

call isolate_tenants('line_user', 'attribute_change', 'event_outbox', 'event_archive', 'trigger_rule', 'rule_gate', 'trigger_log',
                     'scheduled_action', 'delivery', 'delivery_attempt', 'scheduled_trigger_execution', 'campaign');
-- An attempt refers to its delivery by id alone, and a foreign key looks past the policies: a tenant could write one on another
-- tenant's delivery. Only workers write attempts.
revoke insert, update, delete on delivery_attempt from dueline_tenant;

alter table line_oa enable row level security;
create policy tenant_isolation on line_oa to dueline_tenant
  using (organization_id = current_organization_id() and id = current_line_oa_id());
grant select (id, organization_id, channel_id, name, timezone, status, created_date, deleted_date) on line_oa to dueline_tenant;
alter table organization enable row level security;
create policy tenant_isolation on organization to dueline_tenant using (id = current_organization_id());
grant select on organization to dueline_tenant;

-- line_user is written by any service, under a role of its own that was granted the right: row level security would make its
-- UPDATE change nothing, silently.
create policy other_services on line_user using (current_user <> 'dueline_tenant');
