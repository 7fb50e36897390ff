const HOUR_AGO = `clock_timestamp() - interval '1 hour'`;
const MULTICAST = `(select id from campaign where cast_type = 'multicast')`;
const BROADCAST = `(select id from campaign where cast_type = 'broadcast')`;
/** Nothing but the freeze undone. */
const THAWED = `
  delete from delivery_attempt using delivery where delivery.id = delivery_id and campaign_id = ${MULTICAST};
  delete from delivery where campaign_id = ${MULTICAST}; delete from campaign_chunk where campaign_id = ${MULTICAST};
  update campaign set frozen_at = null, sent_at = null, planned_count = null where id = ${MULTICAST};`;

/** For each invariant of campaigns the faults that it must find, alone. */
export const CAMPAIGN_PLANTS: readonly (readonly [id: string, fault: string, sql: string])[] = [
  [
    'I14.campaign',
    'claimed, and neither started nor taken back',
    `${THAWED} update campaign set status = 'sending', claimed_at = ${HOUR_AGO} where id = ${MULTICAST}`,
  ],
  [
    'I15.campaign',
    'nobody claims it',
    `${THAWED} update campaign set status = 'scheduled', updated_date = ${HOUR_AGO} where id = ${MULTICAST}`,
  ],
  [
    'I15.campaign',
    'taken back, and nobody claims it again',
    `update campaign set status = 'scheduled', sent_at = null, updated_date = ${HOUR_AGO} where id = ${MULTICAST}`,
  ],
  [
    'I15.campaign_end',
    'its last chunk has ended, and nobody closes it',
    `update campaign set status = 'sending', sent_at = null where id = ${MULTICAST};
     update delivery set updated_date = ${HOUR_AGO} where campaign_id = ${MULTICAST}`,
  ],
  [
    'I15.campaign_end',
    'frozen for nobody, and nobody closes it',
    `${THAWED} update campaign set status = 'sending', frozen_at = app_now(), planned_count = 0, updated_date = ${HOUR_AGO}
      where id = ${MULTICAST}`,
  ],
  ['I16.campaign', 'frozen before its start', `update campaign set start_date = frozen_at + interval '1 second'`],
  [
    'I22.sent',
    'a chunk has not ended',
    `update delivery set status = 'planned', accepted_at = null where campaign_id = ${MULTICAST} and chunk_no = 1`,
  ],
  ['I22.sent', 'nobody says when', 'update campaign set sent_at = null'],
  [
    'I22.frozen',
    'it was cancelled before it began, and has a request',
    `update campaign set status = 'cancel', frozen_at = null, sent_at = null, planned_count = null where id = ${MULTICAST}`,
  ],
  ['I22.chunks', 'another count', 'update campaign set planned_count = 502 where planned_count is not null'],
  [
    'I22.chunks',
    'somebody is in two chunks',
    `update campaign_chunk set user_ids = array(select user_ids[1] from campaign_chunk where chunk_no = 0 and user_ids is not null)
      where chunk_no = 1;
     update delivery set body = jsonb_set(body::jsonb, '{to}', to_jsonb(user_ids))
       from campaign_chunk as chunk where chunk.campaign_id = delivery.campaign_id and chunk.chunk_no = delivery.chunk_no
        and delivery.chunk_no = 1`,
  ],
  ['I22.chunks', 'a broadcast with a count', `update campaign set planned_count = 1 where id = ${BROADCAST}`],
  [
    'I22.delivery',
    'a chunk without delivery',
    `delete from delivery_attempt using delivery where delivery.id = delivery_id and chunk_no = 1;
     delete from delivery where chunk_no = 1`,
  ],
  [
    'I22.delivery',
    'a chunk with two deliveries',
    `insert into delivery (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, campaign_id, chunk_no, retry_key, body,
                           body_sha256, deliver_until, status, reason_code, created_date)
     select organization_id, line_oa_id, kind, logical_id, epoch, endpoint, 7, campaign_id, chunk_no,
            gen_random_uuid(), body, body_sha256, deliver_until, 'refused', 'planted', created_date - interval '1 year' from delivery where chunk_no = 1`,
  ],
  [
    'I22.delivery',
    'a delivery without chunk',
    `update delivery set chunk_no = 7 where chunk_no = 1; delete from campaign_chunk where chunk_no = 1;
     update campaign set planned_count = 500 where id = ${MULTICAST}`,
  ],
  [
    'I22.body',
    'to somebody else',
    `update delivery set body = jsonb_set(body::jsonb, '{to,0}', '"U00000000000000000000000000000000"') where chunk_no = 1`,
  ],
  [
    'I22.split',
    'split, and nobody got a request of their own',
    `update delivery set status = 'split', accepted_at = null, reason_code = 'split' where campaign_id = ${MULTICAST} and chunk_no = 0`,
  ],
  [
    'I11.campaign',
    'sent after it was cancelled',
    `update campaign set status = 'cancel', sent_at = null, cancel_requested_at = app_now() - interval '1 hour' where id = ${MULTICAST}`,
  ],
  [
    'I22.cancel',
    'cancelled while a chunk is planned',
    `update campaign set status = 'cancel', sent_at = null, cancel_requested_at = app_now() where id = ${MULTICAST};
     update delivery set status = 'planned', accepted_at = null where campaign_id = ${MULTICAST} and chunk_no = 1`,
  ],
  [
    'I15.campaign_stop',
    'nothing is on its way any more, and nobody ends it',
    `update campaign set status = 'paused', sent_at = null, cancel_requested_at = app_now() where id = ${MULTICAST};
     update delivery set updated_date = ${HOUR_AGO} where campaign_id = ${MULTICAST}`,
  ],
  [
    'I15.campaign_stop',
    'what nothing has left of stays planned',
    `update campaign set status = 'paused', sent_at = null, cancel_requested_at = app_now() where id = ${MULTICAST};
     delete from delivery_attempt using delivery where delivery.id = delivery_id and campaign_id = ${MULTICAST} and chunk_no = 1;
     update delivery set updated_date = ${HOUR_AGO} where campaign_id = ${MULTICAST};
     update delivery set status = 'planned', accepted_at = null, first_attempt_at = null, published_at = clock_timestamp(), announce_count = 20
      where campaign_id = ${MULTICAST} and chunk_no = 1`,
  ],
  [
    'I22.told',
    'nobody is told',
    `update campaign set status = 'needs_attention', sent_at = null where id = ${MULTICAST}`,
  ],
  ['I22.body', 'with other words', `update campaign set messages = '[]' where id = ${MULTICAST}`],
];
