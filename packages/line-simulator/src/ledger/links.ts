import { compact } from '../compact.ts';
import { isFields } from '../fields.ts';

/** The URLs of one send's messages, in the order they appear. */
export interface Links {
  /** In texts: LINE fetches these for a preview when the chat is opened. */
  readonly inTexts: readonly string[];
  /** Behind buttons and areas. */
  readonly inActions: readonly string[];
}

const URL_IN_TEXT = /https?:\/\/[^\s<>"'[\]]+/g;

/** Undefined if there is none. */
export function linksOf(messages: readonly unknown[]): Links | undefined {
  const inTexts: string[] = [];
  const inActions: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (isFields(value) && value.type === 'uri' && typeof value.uri === 'string') inActions.push(compact(value.uri));
    Object.values(value).forEach(visit);
  };
  for (const message of messages) {
    const text = isFields(message) && typeof message.text === 'string' ? message.text : '';
    for (const [url] of text.matchAll(URL_IN_TEXT)) inTexts.push(compact(url));
    visit(message);
  }
  return inTexts.length + inActions.length > 0 ? { inTexts, inActions } : undefined;
}
