import { z } from 'zod';
import { isStorable, NOT_STORABLE } from './storable.ts';

/** LINE's limit of message objects in one request. Source: LINE Messaging API reference, "Send push message". */
export const MAX_MESSAGES_PER_REQUEST = 5;
/** LINE's limit of a text message in UTF-16 units. Source: LINE Messaging API reference, "Text message". */
export const MAX_TEXT_LENGTH = 5_000;

/** Text that LINE can carry and Postgres can store: not empty, no NUL, no lone surrogate. */
const messageText = z.string().min(1).max(MAX_TEXT_LENGTH).refine(isStorable, NOT_STORABLE);

export const textMessage = z.strictObject({ type: z.literal('text'), text: messageText });
export type TextMessage = z.infer<typeof textMessage>;

/** What one request to LINE carries. */
export const messageList = z.array(textMessage).min(1).max(MAX_MESSAGES_PER_REQUEST);
