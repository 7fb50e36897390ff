import { z } from 'zod';

const MAX_BIGINT = 2n ** 63n - 1n;
const isBigint = (digits: string) => digits.length < 19 || BigInt(digits) <= MAX_BIGINT;

/** A bigint key as it travels: decimal digits. JSON numbers would lose what lies beyond 2^53. */
export const bigintId = z
  .string()
  .regex(/^[1-9][0-9]{0,18}$/, { abort: true })
  .refine(isBigint, 'must fit a bigint');

/** A row's ownership counter as it travels: grows with every change of owner or definition, never reset. */
export const fence = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,18})$/, { abort: true })
  .refine(isBigint, 'must fit a bigint');

/** LINE's id of a person, unique per provider. Source: LINE Messaging API reference, "user ID". */
export const lineUserId = z.string().regex(/^U[0-9a-f]{32}$/);

/** The right to work on one row as long as its fence stays what it was. Carries no content. */
export const ticket = z.object({ id: bigintId, fence });
export type Ticket = z.infer<typeof ticket>;

/** Whose row it is: an organization and one of its LINE Official Accounts. */
export const tenant = z.object({ organizationId: bigintId, lineOaId: bigintId });
export type Tenant = z.infer<typeof tenant>;

/** A ticket together with whose row it stands for; what claims, starts and creations return. */
export type TenantTicket = Ticket & Tenant;
