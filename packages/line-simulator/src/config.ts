import { z } from 'zod';

/** The four checks whose order LINE does not document. */
const PERMUTABLE_STEPS = ['rateLimit', 'keySyntax', 'keyAccepted', 'validation'] as const;
export type PermutableStep = (typeof PERMUTABLE_STEPS)[number];

const limit = z.strictObject({ count: z.int().min(1), perMs: z.int().min(1) });

/** What LINE does not document; the product must hold under every setting. */
const knobs = z.strictObject({
  /** Order of the checks between the retry key's place and the quota. */
  order: z
    .array(z.enum(PERMUTABLE_STEPS))
    .length(PERMUTABLE_STEPS.length)
    .refine((order) => new Set(order).size === order.length, 'every step once')
    .default([...PERMUTABLE_STEPS]),
  /** Whether the monthly limit is checked against those who can receive, or against all that the request names. */
  quotaCounts: z.enum(['deliverable', 'requested']).default('deliverable'),
  multicastUnknownUser: z.enum(['accept', 'reject400']).default('accept'),
  /** A user named twice in one multicast receives twice, or once. */
  duplicateTo: z.enum(['deliverEach', 'collapse']).default('deliverEach'),
  keyWindowFrom: z.enum(['accepted', 'firstSeen']).default('accepted'),
  keyWindowMs: z.int().min(1).default(86_400_000),
  /** How far the consumption that LINE tells is behind; it is documented as approximate. */
  consumptionLag: z.int().min(0).default(0),
  /** When a bulk link or unlink takes effect. */
  bulkDelayMs: z.int().min(0).default(2_000),
  /** Size of a token bucket, in units of the limit itself: 1 holds 2,000 for 2,000/s and 60 for 60/h. */
  burst: z.number().positive().default(1),
  /** Other limits than LINE's, by endpoint (`push`, `multicast`, ...). */
  limits: z.record(z.string(), limit).default({}),
});

const userState = z.enum(['friend', 'blocked', 'deleted', 'stranger']);
/** `stranger`: known to the channel, but no friend. */
export type UserState = z.infer<typeof userState>;

const userGroup = z.union([
  z.strictObject({
    /** Lower-case hex digits, 24 at most; the users are `nthUserId(prefix, 0 .. count - 1)`. */
    prefix: z.string().regex(/^[0-9a-f]{0,24}$/),
    count: z.int().min(0).max(10_000_000),
    state: userState.default('friend'),
  }),
  z.strictObject({ ids: z.array(z.string().regex(/^U[0-9a-f]{32}$/)), state: userState.default('friend') }),
]);
export type UserGroup = z.infer<typeof userGroup>;

const quota = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('limited'), value: z.int().min(0) }),
]);
export type QuotaSetting = z.infer<typeof quota>;

export const channelConfig = z.strictObject({
  channelId: z.string().min(1).max(64),
  channelAccessToken: z.string().min(1).max(512),
  /** `secret-of-<channelId>` unless given. */
  channelSecret: z.string().min(1).max(128).optional(),
  name: z.string().max(128).default('Simulated account'),
  quota: quota.default({ type: 'none' }),
  users: z.array(userGroup).default([]),
  /** Rich menus that exist from the start, with an image. */
  richMenuIds: z.array(z.string().min(1).max(64)).default([]),
  knobs: knobs.prefault({}),
});
/** A channel as a caller writes it; everything but id and token has a default. */
export type ChannelConfig = z.input<typeof channelConfig>;
export type ChannelSettings = z.output<typeof channelConfig>;

export const channelList = z.strictObject({ channels: z.array(channelConfig) });
export const usersCommand = z.strictObject({ channelId: z.string(), userIds: z.array(z.string()) });
export const resetCommand = z.strictObject({ channels: z.array(channelConfig).optional() });
/** Not a step but a place, so that a repeated command moves nothing. */
export const clockCommand = z.strictObject({ aheadMs: z.number().min(0).max(4_000_000_000_000) });
export const ledgerQuery = z.strictObject({
  since: z.coerce.number().int().min(0).optional(),
  lid: z.string().optional(),
  user: z.string().optional(),
  channel: z.string().optional(),
  format: z.literal('jsonl').default('jsonl'),
});
