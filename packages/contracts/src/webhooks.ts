import { z } from 'zod';
import { templateText } from './content.ts';
import { attributeName } from './names.ts';
import { isStorable, NOT_STORABLE } from './storable.ts';

/** Longest JSON text of the data of one webhook once it is filled in, in bytes. Ours. */
export const MAX_WEBHOOK_DATA_BYTES = 16_384;
const MAX_URL_LENGTH = 2_048;
const MAX_FIELDS = 50;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const ADDRESS = /^(\[.*\]|\d{1,3}(\.\d{1,3}){3})$/;

/** What is wrong with where a webhook goes; undefined: nothing that can be seen of it. Where its host leads is looked at when it is called. */
function urlProblem(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null) return 'is no URL: https://… was expected';
  if (url.username !== '' || url.password !== '') return 'must not hold a user or password: what is sent is signed';
  if (url.hash !== '') return 'must not have a #fragment, which is never sent';
  if (LOOPBACK.test(url.hostname) && (url.protocol === 'http:' || url.protocol === 'https:')) return undefined;
  if (url.protocol !== 'https:') return 'must be https://…';
  return ADDRESS.test(url.hostname) ? 'must name a host, not an address' : undefined;
}

/** Where a webhook goes: https, to a host by its name. This machine may be named, for tests; elsewhere it is never called. */
const webhookUrl = z
  .string()
  .max(MAX_URL_LENGTH)
  .refine(isStorable, NOT_STORABLE)
  .superRefine((text, context) => {
    const message = urlProblem(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** What a webhook says besides whom and which rule it is about: texts, with placeholders, numbers, booleans and nulls by their names. */
const webhookData = z
  .record(attributeName, z.union([templateText, z.number(), z.boolean(), z.null()]))
  .refine((data) => Object.keys(data).length <= MAX_FIELDS, { error: `at most ${MAX_FIELDS} fields` });

/** The parameters of `call_webhook`. */
export const callWebhookConfig = z.strictObject({ url: webhookUrl, data: webhookData.optional() });

/** What a webhook says about one person, nothing left to fill in. */
export type WebhookData = Readonly<Record<string, string | number | boolean | null>>;
