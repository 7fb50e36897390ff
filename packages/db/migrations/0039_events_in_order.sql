-- reader: whether something older of the same person is undecided, for what is about to be decided or announced before it.
create index idx_event_outbox_person on event_outbox (line_oa_id, user_id, id) where status <> 'dead';
-- It finds as well what idx_event_outbox_ahead was for: what goes through the queue, among the few events of a person.
drop index idx_event_outbox_ahead;
