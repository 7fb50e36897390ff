import { storableText } from '@dueline/kernel';

/** Which of LINE's limits a 429 speaks of; `unknown` when its text matches none that we know. */
export type ThrottleReason = 'rate' | 'monthly' | 'same_user' | 'unknown';

/**
 * What one attempt proves. `detail` is at most 300 characters and holds no token and no text of ours.
 *
 * - `accepted`: LINE took it now. `already`: LINE had taken the same retry key before; `acceptedRequestId` is that request
 *   (`requestId`, this one's, is '' if the answer did not name it). Accepted does not mean that anyone received it.
 * - `refused`, `auth`, `throttled`: this attempt reached nobody. An earlier ambiguous attempt may have all the same.
 * - `not_reached`: no byte of the request can have arrived at LINE.
 * - `ambiguous`: LINE may or may not have taken it. Only the same bytes with the same retry key can tell.
 */
export type LineOutcome =
  | { readonly kind: 'accepted'; readonly requestId: string; readonly sentMessageIds: string[] }
  | {
      readonly kind: 'already';
      readonly requestId: string;
      readonly acceptedRequestId: string;
      readonly sentMessageIds: string[];
    }
  | {
      readonly kind: 'refused' | 'auth';
      readonly status: number;
      readonly requestId?: string;
      readonly detail: string;
    }
  | { readonly kind: 'throttled'; readonly status: 429; readonly reason: ThrottleReason; readonly detail: string }
  | NoAnswer;

/** What an attempt proves that no answer, or none to rely on, came to. */
export type NoAnswer =
  | { readonly kind: 'not_reached'; readonly detail: string }
  | { readonly kind: 'ambiguous'; readonly status?: number; readonly detail: string };

/** An HTTP answer whose head arrived. `text` is undefined when its body broke off or did not come in time. */
export interface LineAnswer {
  readonly status: number;
  /** The first value of a header, by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly text: string | undefined;
  /** Why there is no text. */
  readonly cutOff?: string;
}

const MAX_DETAIL = 300;
const REFUSED: ReadonlySet<number> = new Set([400, 403, 404, 410, 413, 415]);

/** The outcome that an answer proves; everything that is not known to be decisive counts as ambiguous. */
export function outcomeOfAnswer(answer: LineAnswer): LineOutcome {
  const { status } = answer;
  const requestId = answer.header('x-line-request-id');
  if (status === 200) return outcomeOf200(answer, requestId);
  if (status === 409) return outcomeOf409(answer, requestId);
  const detail = describe(answer);
  if (status === 401) return { kind: 'auth', status, detail, ...(requestId !== undefined && { requestId }) };
  if (status === 429) return { kind: 'throttled', status, reason: throttleReason(answer.text), detail };
  if (REFUSED.has(status)) return { kind: 'refused', status, detail, ...(requestId !== undefined && { requestId }) };
  return { kind: 'ambiguous', status, detail };
}

/** Short text that a database column takes. */
export function shortDetail(text: string): string {
  return storableText(text, MAX_DETAIL);
}

function outcomeOf200(answer: LineAnswer, requestId: string | undefined): LineOutcome {
  const body = jsonObject(answer.text);
  if (body === undefined) return { kind: 'ambiguous', status: 200, detail: describe(answer) };
  // LINE names every answer; a 200 without a name came from something in between that may have sent nothing on.
  if (requestId === undefined) return { kind: 'ambiguous', status: 200, detail: '200 without x-line-request-id' };
  return { kind: 'accepted', requestId, sentMessageIds: sentMessageIds(body) };
}

function outcomeOf409(answer: LineAnswer, requestId: string | undefined): LineOutcome {
  const acceptedRequestId = answer.header('x-line-accepted-request-id');
  if (acceptedRequestId === undefined) {
    return {
      kind: 'ambiguous',
      status: 409,
      detail: shortDetail(`without x-line-accepted-request-id: ${describe(answer)}`),
    };
  }
  // The ids of the messages are in the body, so a body that broke off is asked for again; the same key answers the same.
  if (answer.text === undefined) return { kind: 'ambiguous', status: 409, detail: describe(answer) };
  return {
    kind: 'already',
    requestId: requestId ?? '',
    acceptedRequestId,
    sentMessageIds: sentMessageIds(jsonObject(answer.text) ?? {}),
  };
}

/** LINE tells its limits apart by this text alone; the texts may change, so an unknown one is a case of its own. */
function throttleReason(text: string | undefined): ThrottleReason {
  const message = jsonObject(text)?.message;
  if (typeof message !== 'string') return 'unknown';
  if (/monthly limit/i.test(message)) return 'monthly';
  if (/same user/i.test(message)) return 'same_user';
  if (/rate limit/i.test(message)) return 'rate';
  return 'unknown';
}

/** LINE's own error text, which names properties and never quotes the message; of any other body only its size. */
function describe({ status, header, text, cutOff }: LineAnswer): string {
  if (text === undefined) return shortDetail(`${status}, body cut off: ${cutOff ?? 'unknown'}`);
  const message = jsonObject(text)?.message;
  if (typeof message === 'string') return shortDetail([`${status} ${message}`, ...errorDetails(text)].join('; '));
  return shortDetail(
    `${status} with ${text.length} characters of ${header('content-type') ?? 'unknown type'} that are no LINE answer`,
  );
}

function errorDetails(text: string): string[] {
  const details = jsonObject(text)?.details;
  if (!Array.isArray(details)) return [];
  return details.slice(0, 3).flatMap((detail: unknown) => {
    if (!isObject(detail)) return [];
    return [[detail.property, detail.message].filter((part) => typeof part === 'string').join(': ')];
  });
}

function sentMessageIds(body: Record<string, unknown>): string[] {
  const sent = body.sentMessages;
  if (!Array.isArray(sent)) return [];
  return sent.flatMap((message: unknown) => (isObject(message) && typeof message.id === 'string' ? [message.id] : []));
}

/** The JSON object that a body is; undefined when it is none. */
export function jsonObject(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // Not JSON is a finding, not a failure: each caller says what it means.
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
