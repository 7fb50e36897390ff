-- A chunk that is planned anew (by a person, or because its key grew too old) has a key of its own, and needs a place of its own in the pace of its
-- campaign: grants name the key. Those by id, which the release before writes and reads, say nothing to this one.
alter table campaign_pace add column granted_keys uuid[] not null default '{}';
