export const DELIVERY_STATUSES = [
  'planned',
  'sending',
  'accepted',
  'refused',
  'unknown',
  'expired',
  'cancelled',
] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Every allowed move; each bumps the fence. The guard trigger of the table refuses everything else; a test compares the two. */
export const TRANSITIONS = {
  planned: ['sending', 'planned', 'expired', 'cancelled', 'unknown'],
  sending: ['accepted', 'planned', 'refused', 'unknown'],
  accepted: [],
  refused: ['planned'],
  unknown: ['planned'],
  expired: ['planned'],
  cancelled: [],
} as const satisfies Record<DeliveryStatus, readonly DeliveryStatus[]>;

/** Hours after the first attempt in which a retry key may be used: LINE forgets it after 24, one is kept as margin. */
export const RETRY_KEY_HOURS = 23;
