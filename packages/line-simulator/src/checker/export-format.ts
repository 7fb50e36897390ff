import { z } from 'zod';

/** What a client may say about one recipient of one logical send. All but `planned` are final. */
export const STATES = ['planned', 'accepted', 'invalid', 'skipped_blocked', 'unknown', 'expired', 'cancelled'] as const;
export type RecipientState = (typeof STATES)[number];

/** What a client made of one answer of LINE, or of its absence; the README says what counts as which. */
export const OUTCOMES = ['ACCEPTED', 'ALREADY', 'REFUSED', 'AUTH', 'THROTTLED', 'NOT_REACHED', 'AMBIGUOUS'] as const;
export type AttemptOutcome = (typeof OUTCOMES)[number];

/** Stands for all recipients of a broadcast, whom the client does not know. */
export const EVERYONE = '*';

/** RFC 3339. Every instant is of the clock that the simulator runs by. */
const instant = z.iso.datetime({ offset: true });
const named = z.string().min(1);
const send = { channelId: named, lid: named };

const planned = z.strictObject({
  kind: z.literal('planned'),
  ...send,
  /** A LINE user id, or `*` for a broadcast. */
  user: named,
  /** Not to be sent before; the time to settle is counted from here. */
  dueAt: instant.optional(),
});

const state = z.strictObject({
  kind: z.literal('state'),
  ...send,
  user: named,
  state: z.enum(STATES),
  /** Since when. */
  at: instant.optional(),
  /** The key under which this recipient is, or was last, sent to. */
  retryKey: named.optional(),
});

const attempt = z.strictObject({
  kind: z.literal('attempt'),
  ...send,
  retryKey: named.nullable(),
  /** What the key was derived from. If given, the key must be the UUIDv8 of its SHA-256. */
  keyName: named.optional(),
  /** x-line-request-id of the answer, if there was one. */
  requestId: named.nullable(),
  /** x-line-accepted-request-id of a 409, or the stored id of the request that was accepted. */
  acceptedRequestId: named.nullable(),
  /** Written before the first byte is sent. */
  startedAt: instant,
  finishedAt: instant.nullable(),
  /** null if the client ended before it could write one. */
  outcome: z.enum(OUTCOMES).nullable(),
});

const stop = z.strictObject({
  kind: z.literal('stop'),
  verb: z.enum(['pause', 'cancel']),
  channelId: named,
  /** Of the whole channel if left out. */
  lid: named.optional(),
  /** When it was acknowledged: from here on nothing new may start. */
  at: instant,
  /** When it was resumed. */
  until: instant.optional(),
});

const consumption = z.strictObject({
  kind: z.literal('consumption'),
  channelId: named,
  at: instant,
  /** What LINE answered at that time for the running month (UTC+9). */
  totalUsage: z.int().min(0),
  /** How many of these others sent. */
  others: z.int().min(0).default(0),
});

const total = z.strictObject({
  kind: z.literal('total'),
  ...send,
  /** How many accepted recipients the client shows for this send. */
  accepted: z.int().min(0),
});

/**
 * One line of a client's export, told apart by `kind`: `planned` and `state` for each recipient of each logical send,
 * `attempt` for each request, `stop` for each acknowledged pause or cancel, and, if known, `consumption` and `total`.
 * Lines come in any order.
 */
export const exportRecord = z.discriminatedUnion('kind', [planned, state, attempt, stop, consumption, total]);
export type ExportRecord = z.input<typeof exportRecord>;
export type RecordOf<Kind extends ExportRecord['kind']> = Extract<ExportRecord, { kind: Kind }>;

/** What the checker must be told about the run. */
export const checkOptions = z.strictObject({
  /** Printed with each finding, to run the same again. */
  seed: z.string().optional(),
  /** When the last fault was over (for a run without faults, its start). Without it H6 and H7 are not checked. */
  faultsEndedAt: instant.optional(),
  /** When the export was written. Without it H7 is not checked. */
  endedAt: instant.optional(),
  /** How long after the faults, its due time or a resume a recipient may take to its final state. */
  settleWithinMs: z.coerce.number().int().min(0).default(720_000),
  /** After how long the client gives an attempt up. Without it a client that did so while the answer was on its way breaks H5. */
  attemptTimeoutMs: z.coerce.number().int().min(1).optional(),
  /** How many findings of an invariant are told in full; all are counted. */
  findingsEach: z.coerce.number().int().min(1).max(10_000).default(20),
});
export type CheckSettings = z.output<typeof checkOptions>;

/** The same as a caller writes it; instants are RFC 3339, and what has a default may be left out. */
export interface CheckOptions {
  seed?: string | undefined;
  faultsEndedAt?: string | undefined;
  endedAt?: string | undefined;
  settleWithinMs?: number | string | undefined;
  attemptTimeoutMs?: number | string | undefined;
  findingsEach?: number | string | undefined;
}
