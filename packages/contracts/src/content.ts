import { z } from 'zod';
import { languageTag, MAX_VARIANTS } from './languages.ts';
import { isStorable, NOT_STORABLE } from './storable.ts';
import { OPEN, type Part, parseTemplate } from './template.ts';

/** LINE's limit of message objects in one request. Source: LINE Messaging API reference, "Send push message". */
export const MAX_MESSAGES_PER_REQUEST = 5;
/** LINE's limit of a text message in UTF-16 units. Source: LINE Messaging API reference, "Text message". */
export const MAX_TEXT_LENGTH = 5_000;
/** Most messages of one action: five requests to LINE. Ours. */
export const MAX_MESSAGES_PER_ACTION = 25;
/** Longest template as it is written, placeholders and all, in UTF-16 units. Ours. */
const MAX_TEMPLATE_LENGTH = 4 * MAX_TEXT_LENGTH;

/** Text that LINE can carry and Postgres can store: not empty, no NUL, no lone surrogate. */
const messageText = z.string().min(1).max(MAX_TEXT_LENGTH).refine(isStorable, NOT_STORABLE);

/** A text that is the same for everybody who gets it. */
export const textMessage = z.strictObject({
  type: z.literal('text'),
  text: messageText.refine((text) => !text.includes(OPEN), {
    error: 'placeholders ({{ … }}) are for the messages of rules: this text is the same for everybody',
  }),
  variants: z
    .undefined({ error: 'languages are for the messages of rules: this text is the same for everybody' })
    .optional(),
});
export type TextMessage = z.infer<typeof textMessage>;

/** What of a text stands there whoever reads it. */
const fixedLength = (parts: readonly Part[]): number =>
  parts.reduce((sum, part) => {
    if (typeof part === 'string') return sum + part.length;
    return part.source.of === 'text' ? sum + part.source.text.length : sum;
  }, 0);

/** A text with placeholders, see {@link parseTemplate}. How long it is with them filled in is judged for each person. */
export const templateText = z
  .string()
  .min(1)
  .max(MAX_TEMPLATE_LENGTH)
  .refine(isStorable, NOT_STORABLE)
  .superRefine((text, context) => {
    const parsed = parseTemplate(text);
    if ('problem' in parsed) {
      context.addIssue({ code: 'custom', message: `at ${parsed.at}: ${parsed.problem}` });
    } else if (fixedLength(parsed.parts) > MAX_TEXT_LENGTH) {
      context.addIssue({ code: 'custom', message: `Too long: LINE takes ${MAX_TEXT_LENGTH} UTF-16 units of text` });
    }
  });

const variants = z.record(languageTag, templateText).superRefine((texts, context) => {
  const tags = Object.keys(texts).map((tag) => tag.toLowerCase());
  if (tags.length === 0 || tags.length > MAX_VARIANTS) {
    context.addIssue({ code: 'custom', message: `1 to ${MAX_VARIANTS} languages; without any, leave it out` });
  }
  const again = tags.find((tag, at) => tags.indexOf(tag) !== at);
  if (again !== undefined)
    context.addIssue({ code: 'custom', message: `${again} is there twice; case does not count` });
});

/** One message as its author writes it: with placeholders, and in other languages than that of `text`. */
const messageTemplate = z.strictObject({
  type: z.literal('text'),
  text: templateText,
  variants: variants.optional(),
});
export type MessageTemplate = z.infer<typeof messageTemplate>;

/** What an action says; as many requests to LINE as {@link MAX_MESSAGES_PER_REQUEST} makes of it. */
export const messageList = z.array(messageTemplate).min(1).max(MAX_MESSAGES_PER_ACTION);
