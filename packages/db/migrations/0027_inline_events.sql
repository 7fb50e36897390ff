-- Events that whoever decides them takes straight from the outbox, without a message about each.

-- reader: the claim of what just happened, oldest first. A crowd is not in it, however much of it waits, nor what is decided alone.
create index idx_event_outbox_fresh on event_outbox (id) where status = 'pending' and not bulk and not alone;
-- reader: whether something older of the same person goes the long way, and so goes first. What is taken at once never stands here.
create index idx_event_outbox_ahead on event_outbox (line_oa_id, user_id) where status = 'published' or bulk or alone;
