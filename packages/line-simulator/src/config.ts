import { z } from 'zod';
import { isLoopback } from './webhooks/loopback.ts';

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
  /**
   * What a second request meets while one with its key is under way: it waits for the first (`serialize`), is answered 409
   * without an accepted request (`conflict`), or is accepted as well, because neither sees the other (`race`).
   */
  sameKeyInFlight: z.enum(['serialize', 'conflict', 'race']).default('serialize'),
  /** How far the consumption that LINE tells is behind; it is documented as approximate. */
  consumptionLag: z.int().min(0).default(0),
  /** When a bulk link or unlink takes effect. */
  bulkDelayMs: z.int().min(0).default(2_000),
  /** How long a narrowcast waits, and how long it is sending. */
  narrowcastStepMs: z.int().min(0).default(5_000),
  /** When user ids that were uploaded are members of their audience. */
  audienceDelayMs: z.int().min(0).default(10_000),
  /** When a webhook that failed is delivered again, if the channel has that switched on. */
  redeliveryDelayMs: z.int().min(1).default(60_000),
  /** Size of a token bucket, in units of the limit itself: 1 holds 2,000 for 2,000/s and 60 for 60/h. */
  burst: z.number().positive().default(1),
  /** So many rate 429s on one endpoint are still a client that learns, and as many again in `perMs`; beyond is V6. */
  tolerated429: limit.prefault({ count: 60, perMs: 60_000 }),
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

export const quota = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('limited'), value: z.int().min(0) }),
]);
export type QuotaSetting = z.infer<typeof quota>;

const webhook = z.strictObject({
  url: z.string().refine(isLoopback, 'on this machine only'),
  active: z.boolean().default(true),
  /** Whether what failed is delivered again, three times at most. */
  redelivery: z.boolean().default(false),
});

export const channelConfig = z.strictObject({
  channelId: z.string().min(1).max(64),
  channelAccessToken: z.string().min(1).max(512),
  /** `secret-of-<channelId>` unless given. */
  channelSecret: z.string().min(1).max(128).optional(),
  name: z.string().max(128).default('Simulated account'),
  webhook: webhook.optional(),
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
const seed = z.int().min(0).default(1);
/** `fraction` draws from those who are not there yet; the same seed draws the same. */
export const usersCommand = z
  .strictObject({
    channelId: z.string(),
    userIds: z.array(z.string()).optional(),
    fraction: z.number().min(0).max(1).optional(),
    seed,
  })
  .refine(({ userIds, fraction }) => (userIds === undefined) !== (fraction === undefined), 'userIds or fraction');
export const seedCommand = z.strictObject({ channelId: z.string(), users: z.array(userGroup).min(1) });

/** How a webhook comes that does not come as it should. */
const emitOptions = z.strictObject({
  /** Delivered so often, as if for the first time each time. */
  times: z.int().min(1).max(10).default(1),
  /** Delivered once more, marked as a redelivery. */
  redeliver: z.boolean().default(false),
  /** Kept until the next webhook of the channel has gone out. */
  hold: z.boolean().default(false),
  delayMs: z.int().min(0).default(0),
  signature: z.enum(['valid', 'wrong', 'missing']).default('valid'),
  /** Without its events, as LINE does to check a URL. */
  empty: z.boolean().default(false),
  /** With an event before it whose type no client knows. */
  unknownType: z.boolean().default(false),
  /** With a message of each of these users in the same request. */
  mixWith: z.array(z.string()).default([]),
});
export type EmitOptions = z.output<typeof emitOptions>;

const deedOf = <Name extends string>(deed: Name) => ({
  deed: z.literal(deed),
  channelId: z.string(),
  emit: emitOptions.prefault({}),
});
export const deedCommand = z.discriminatedUnion('deed', [
  z.strictObject(deedOf('follow')),
  z.strictObject(deedOf('block')),
  z.strictObject(deedOf('unblock')),
  z.strictObject(deedOf('delete')),
  z.strictObject({ ...deedOf('message'), text: z.string().min(1).max(5_000).default('hi') }),
  z.strictObject({ ...deedOf('postback'), data: z.string().max(300) }),
]);
export type Deed = z.output<typeof deedCommand>;

export const openCommand = z.strictObject({
  channelId: z.string(),
  /** Asks for the first part only. */
  range: z.boolean().default(false),
  /** Fetches what is behind buttons as well; whether LINE does is not known. */
  actions: z.boolean().default(false),
});
export const tapCommand = z.strictObject({
  channelId: z.string(),
  acceptSeq: z.int().min(1),
  /** Among the URLs of the send: those in texts, then those behind buttons. */
  urlIndex: z.int().min(0).default(0),
  ua: z.enum(['ios', 'android', 'liff', 'pc']).default('ios'),
});
export const resetCommand = z.strictObject({ channels: z.array(channelConfig).optional() });
const TIME_LIMIT_MS = 4_000_000_000_000;
export const clockCommand = z.union([
  /** Not a step but a place, so that a repeated command moves nothing. */
  z.strictObject({ aheadMs: z.number().min(0).max(TIME_LIMIT_MS) }),
  z.strictObject({ advanceMs: z.number().min(-TIME_LIMIT_MS).max(TIME_LIMIT_MS) }),
  z.strictObject({ setMs: z.number().min(0).max(TIME_LIMIT_MS) }),
  /** `virtual` stands still between commands. */
  z.strictObject({ mode: z.enum(['real', 'virtual']) }),
]);
export type ClockCommand = z.output<typeof clockCommand>;
export const ledgerQuery = z.strictObject({
  since: z.coerce.number().int().min(0).optional(),
  lid: z.string().optional(),
  user: z.string().optional(),
  channel: z.string().optional(),
  format: z.literal('jsonl').default('jsonl'),
});
