import { z } from 'zod';
import { bigintId } from './ids.ts';
import { attributeName } from './names.ts';

/** The kinds of facts about a person that may end a wait early. */
export const WAIT_SOURCES = ['link', 'form', 'booking', 'attribute', 'friend', 'message'] as const;
export type WaitSource = (typeof WAIT_SOURCES)[number];

/** The branch of a wait that nothing ended in time. */
export const EXPIRED_BRANCH = 'expired';
/** The branch of what waited for its time only. */
export const DUE_BRANCH = 'due';

/** Which way a wait goes when a fact ends it: a word that its author chose, else `clicked`, `submitted`, … */
export const branchName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,31}$/)
  .refine(
    (name) => name !== EXPIRED_BRANCH && name !== DUE_BRANCH,
    'expired and due are branches that no fact leads to',
  );

/** Most facts that one wait may wait for at once. */
export const MAX_WAITS = 20;

/** One thing that ends a wait: a fact of `source`, about `refId` (a link, form, booking or attribute; left out: any of them). */
export const waitFor = z.discriminatedUnion('source', [
  z.strictObject({
    source: z.enum(['link', 'form', 'booking']),
    refId: bigintId.optional(),
    branch: branchName.optional(),
  }),
  z.strictObject({ source: z.literal('attribute'), refId: attributeName, branch: branchName.optional() }),
  z.strictObject({ source: z.enum(['friend', 'message']), branch: branchName.optional() }),
]);
export type WaitFor = z.infer<typeof waitFor>;

/** The branch that a fact leads to when its wait names none. */
export const DEFAULT_BRANCH: Readonly<Record<WaitSource, string>> = {
  link: 'clicked',
  form: 'submitted',
  booking: 'booked',
  attribute: 'changed',
  friend: 'followed',
  message: 'replied',
};
