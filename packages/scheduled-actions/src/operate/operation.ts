import { ACTION_CONFIGS, MAX_DELAY_SECONDS, type Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { actionTime, futureInstant } from './time.ts';

const { messages } = ACTION_CONFIGS.send_message.shape;

const anew = {
  at: actionTime.optional(),
  messages: messages.optional(),
  /** Although a message of it may have arrived. */
  acceptDuplicates: z.boolean().optional(),
};

/** What a person may do to waiting work. Times are instants, or local times of the account. */
export const actionOperation = z.discriminatedUnion('kind', [
  /** Another time, another content, or both. */
  z
    .strictObject({
      kind: z.literal('edit'),
      at: actionTime.optional(),
      messages: messages.optional(),
    })
    .refine(({ at, messages }) => at !== undefined || messages !== undefined, 'names neither a time nor messages'),
  /** So many seconds later than it is due, or than now when that is past; or at `to`. */
  z
    .strictObject({
      kind: z.literal('postpone'),
      seconds: z.number().int().min(1).max(MAX_DELAY_SECONDS).optional(),
      to: actionTime.optional(),
    })
    .refine(({ seconds, to }) => (seconds === undefined) !== (to === undefined), 'needs either seconds or a time'),
  z.strictObject({ kind: z.literal('fire_now') }),
  z.strictObject({ kind: z.literal('cancel') }),
  /** cancelled -> pending, due when it was (now, if that is past) or at `at`. */
  z.strictObject({ kind: z.literal('uncancel'), ...anew }),
  /** failed -> pending, due now or at `at`. */
  z.strictObject({ kind: z.literal('revive'), ...anew }),
]);
export type ActionOperation = z.infer<typeof actionOperation>;

/** What is wrong with a value and where, e.g. `operation is invalid at /messages/0/text: …`. */
export function parseOrRefuse<T>(what: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PermanentError(`${what} is invalid at /${(issue?.path ?? []).map(String).join('/')}: ${issue?.message}`);
}

/**
 * The operation with its times as instants, so that it means the same whenever it is carried out.
 *
 * @throws PermanentError naming what is wrong with it.
 */
export async function resolveOperation(tx: Tx, tenant: Tenant, operation: ActionOperation): Promise<ActionOperation> {
  const valid = parseOrRefuse('operation', actionOperation, operation);
  if (valid.kind === 'postpone' && valid.to !== undefined) {
    return { ...valid, to: await futureInstant(tx, tenant, valid.to) };
  }
  if ('at' in valid && valid.at !== undefined) return { ...valid, at: await futureInstant(tx, tenant, valid.at) };
  return valid;
}
