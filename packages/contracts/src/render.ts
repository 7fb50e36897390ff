import { MAX_TEXT_LENGTH, type MessageTemplate, type TextMessage } from './content.ts';
import { variantFor } from './languages.ts';
import { OPEN, type Part, parseTemplate } from './template.ts';
import { MAX_WEBHOOK_DATA_BYTES, type WebhookData } from './webhooks.ts';

/** What of a person goes into messages. */
export interface Recipient {
  readonly displayName: string | null;
  /** BCP 47, or anything that another service wrote. */
  readonly language: string | null;
  readonly attributes: ReadonlyMap<string, unknown>;
}

/** Messages with everything filled in, or why they cannot be sent to this person; the reason holds nothing of the person. */
export type Rendered = { readonly messages: readonly TextMessage[] } | { readonly problem: string };

/**
 * What templates say to one person, in the language of the person. A pure function of its arguments, so that the same decision gives the
 * same bytes; it never throws. Texts, numbers and booleans are filled in as JavaScript prints them; anything else (absent, null,
 * an empty text, a list, an object) leaves the fallback. One text that comes out empty, or longer than LINE takes, fails them all:
 * nothing goes out half, and nothing is cut. Templates without placeholders and languages come back as they are.
 */
export function renderMessages(templates: readonly MessageTemplate[], recipient: Recipient): Rendered {
  if (templates.every(isPlain)) return { messages: templates };
  const messages: TextMessage[] = [];
  for (const [n, template] of templates.entries()) {
    const text = renderText(variantFor(template, recipient.language), recipient);
    const problem = text === undefined ? 'it is no template' : lengthProblem(text);
    if (text === undefined || problem !== undefined) return { problem: `message ${n + 1}: ${problem}` };
    messages.push({ type: 'text', text });
  }
  return { messages };
}

/**
 * What a webhook says about one person, with its texts filled in as {@link renderMessages} does, or why it cannot be sent. Pure; it never throws.
 */
export function renderWebhookData(
  template: WebhookData,
  recipient: Recipient,
): { readonly data: WebhookData } | { readonly problem: string } {
  const filled = Object.entries(template).map(
    ([name, value]) => [name, typeof value === 'string' ? renderText(value, recipient) : value] as const,
  );
  if (filled.some(([, value]) => value === undefined)) return { problem: 'a text of its data is no template' };
  const data = Object.fromEntries(filled) as WebhookData; // none is undefined
  const bytes = new TextEncoder().encode(JSON.stringify(data)).length;
  if (bytes > MAX_WEBHOOK_DATA_BYTES)
    return { problem: `its data is ${bytes} bytes long once it is filled in, ${MAX_WEBHOOK_DATA_BYTES} is the most` };
  return { data };
}

const isPlain = (message: MessageTemplate): message is TextMessage =>
  message.variants === undefined && !message.text.includes(OPEN);

function lengthProblem({ length }: string): string | undefined {
  if (length === 0) return 'its text is empty once it is filled in';
  return length > MAX_TEXT_LENGTH
    ? `its text is ${length} long once it is filled in, ${MAX_TEXT_LENGTH} is the most`
    : undefined;
}

/** Undefined: the text breaks the grammar, which authoring refuses; somebody wrote past it. */
function renderText(text: string, recipient: Recipient): string | undefined {
  if (!text.includes(OPEN)) return text;
  const parsed = parseTemplate(text);
  return 'parts' in parsed ? parsed.parts.map((part) => renderPart(part, recipient)).join('') : undefined;
}

function renderPart(part: Part, { displayName, attributes }: Recipient): string {
  if (typeof part === 'string') return part;
  const { source, fallback } = part;
  switch (source.of) {
    case 'text':
      return source.text;
    case 'display_name':
      return textOf(displayName) || fallback;
    case 'attribute':
      return textOf(attributes.get(source.name)) || fallback;
  }
}

/** Empty: there is nothing to show. What comes from other services is made storable. */
function textOf(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\u0000', '\uFFFD') : '';
}
