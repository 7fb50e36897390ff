-- How often in a row not even one person of a cycle could be given what the rule does; a page that is read begins anew.
alter table scheduled_trigger_execution add column page_failures smallint not null default 0;
