import { z } from 'zod';

/** Where on its way a request meets the fault. */
export type Phase = 'beforeAuth' | 'beforeAccept' | 'afterAccept';

const MAX_MS = 2_147_483_647;
const ms = z.int().min(1).max(MAX_MS);

const spread = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('uniform'), minMs: z.int().min(0).max(MAX_MS), maxMs: ms }),
  z.strictObject({ type: z.literal('exponential'), meanMs: ms }),
]);

/** What goes wrong. Times of effects are real ones, since sockets are real; only `reservation` lasts by LINE's clock. */
export const effect = z.discriminatedUnion('type', [
  z
    .strictObject({ type: z.literal('latency'), ms: ms.optional(), dist: spread.optional() })
    .refine((given) => (given.ms === undefined) !== (given.dist === undefined), 'either ms or dist'),
  z.strictObject({ type: z.literal('lateAccept'), ms }),
  z.strictObject({ type: z.literal('rateLimit') }),
  z.strictObject({ type: z.literal('sameUser') }),
  z.strictObject({ type: z.literal('monthlyLimit') }),
  z.strictObject({ type: z.literal('reservation'), ms, count: z.int().min(1).optional() }),
  z.strictObject({
    type: z.literal('status'),
    status: z.int().min(400).max(599),
    message: z.string().max(1_000).optional(),
  }),
  z.strictObject({ type: z.literal('html'), status: z.int().min(500).max(599).default(503) }),
  z.strictObject({ type: z.literal('conflict') }),
  z.strictObject({ type: z.literal('poison'), users: z.array(z.string().min(1)).min(1) }),
  z.strictObject({ type: z.literal('revokeToken') }),
  z.strictObject({ type: z.literal('redirect'), status: z.union([z.literal(302), z.literal(307)]).default(302) }),
  z.strictObject({ type: z.literal('garbage') }),
  z.strictObject({ type: z.literal('reset') }),
  z.strictObject({ type: z.literal('fin') }),
  z.strictObject({ type: z.literal('closeIdle') }),
  z.strictObject({ type: z.literal('hang') }),
  z.strictObject({ type: z.literal('truncate'), part: z.enum(['head', 'body']).default('body') }),
  z.strictObject({
    type: z.literal('drip'),
    part: z.enum(['head', 'body']).default('head'),
    bytes: z.int().min(1).default(1),
    everyMs: ms,
  }),
  z.strictObject({ type: z.literal('down'), ms }),
  z.strictObject({ type: z.literal('blackHole'), ms }),
  z.strictObject({ type: z.literal('withoutDelivery') }),
  z.strictObject({ type: z.literal('withoutEffect') }),
  z.strictObject({ type: z.literal('forgetKey') }),
]);
export type Effect = z.output<typeof effect>;

const REFUSAL = ['beforeAccept', 'beforeAuth'] as const;
const ANYWHERE = [...REFUSAL, 'afterAccept'] as const;

/** The phases that an effect makes sense in; the first is taken where a rule names none. */
const PHASES: Record<Effect['type'], readonly Phase[]> = {
  latency: ANYWHERE,
  lateAccept: ['beforeAccept'],
  rateLimit: REFUSAL,
  sameUser: REFUSAL,
  monthlyLimit: ['beforeAccept'],
  reservation: ['beforeAccept'],
  status: ANYWHERE,
  html: ANYWHERE,
  conflict: ANYWHERE,
  poison: REFUSAL,
  revokeToken: ['beforeAuth'],
  redirect: ANYWHERE,
  garbage: ['afterAccept'],
  reset: ANYWHERE,
  fin: ANYWHERE,
  closeIdle: ['beforeAuth'],
  hang: ANYWHERE,
  truncate: ['afterAccept'],
  drip: ['afterAccept'],
  down: ANYWHERE,
  blackHole: ANYWHERE,
  withoutDelivery: ['beforeAccept'],
  withoutEffect: ['beforeAccept'],
  forgetKey: ['beforeAccept'],
};

/** A 4xx says that LINE refused; the simulator does not say so of what it accepted. */
export function phasesOf(given: Effect): readonly Phase[] {
  return given.type === 'status' && given.status < 500 && given.status !== 408 ? REFUSAL : PHASES[given.type];
}

/** Milliseconds of a latency; `draw` is from 0 up to 1. */
export function latencyMs({ ms: fixed, dist }: Extract<Effect, { type: 'latency' }>, draw: number): number {
  if (fixed !== undefined) return fixed;
  if (dist?.type === 'exponential') return Math.min(MAX_MS, -Math.log(1 - draw) * dist.meanMs);
  return dist === undefined ? 0 : dist.minMs + draw * Math.max(0, dist.maxMs - dist.minMs);
}
