import { sql } from '@dueline/db';

export const DELIVERY_STATUSES = [
  'planned',
  'sending',
  'accepted',
  'refused',
  'split',
  'unknown',
  'expired',
  'cancelled',
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Every allowed move; each bumps the fence. The guard trigger of the table refuses everything else; a test compares the two. */
export const TRANSITIONS = {
  planned: ['sending', 'planned', 'accepted', 'expired', 'cancelled', 'unknown'],
  sending: ['accepted', 'planned', 'refused', 'split', 'unknown'],
  accepted: [],
  refused: ['planned'],
  split: [],
  unknown: ['planned'],
  expired: ['planned'],
  cancelled: ['planned'],
} as const satisfies Record<DeliveryStatus, readonly DeliveryStatus[]>;

/** Hours after the first attempt in which a retry key may be used: LINE forgets it after 24, one is kept as margin. */
export const RETRY_KEY_HOURS = 23;

/**
 * Whether an attempt of delivery_attempt may have reached somebody. Acceptance counts too: it stands on a row that is still
 * planned only when its owner had lost the row before the answer came, and repeating the key then tells that it was accepted.
 */
export const isInDoubt = sql`(outcome is null or outcome in ('ambiguous', 'accepted', 'already'))`;

/** Whether the row `delivery` may have to wait for the end of quiet hours of its `account`: it makes a sound, and was not planned for this moment by a person. */
export const heedsQuietHours = sql`(account.quiet_from is not null and account.quiet_policy <> 'ignore'
  and delivery.kind not in ('campaign', 'test') and delivery.endpoint not in ('richmenu_link', 'richmenu_unlink', 'webhook'))`;

/** Whether an attempt on record tells that LINE accepted the delivery's present key. */
export const isProven = sql`exists (select from delivery_attempt as proof
  where proof.delivery_id = delivery.id and proof.retry_key = delivery.retry_key and proof.outcome in ('accepted', 'already'))`;

/** LINE's id of the request whose attempt tells so: of the one that was accepted rather than of one that LINE answered with "already". */
export const provenRequestId = sql`(select proof.line_request_id from delivery_attempt as proof
  where proof.delivery_id = delivery.id and proof.retry_key = delivery.retry_key and proof.outcome in ('accepted', 'already')
  order by proof.outcome = 'already', proof.attempt_no limit 1)`;

/** Whether the row `delivery` is a part that waits for the one before it, or was cancelled because of how that ended. */
export const isFollowing = sql`(delivery.ordinal > 0 and delivery.group_size > 1
  and ((delivery.status = 'planned' and delivery.next_attempt_at = 'infinity')
       or (delivery.status = 'cancelled' and starts_with(delivery.reason_code, 'earlier_'))))`;
