import type { Ask } from './client.ts';
import { jsonObject, type LineAnswer, type LineOutcome, outcomeOfAnswer } from './outcome.ts';

/** About the menu of one person. */
export interface LineMenuRequest {
  readonly channelAccessToken: string;
  readonly userId: string;
}

/** About the menu of 1 to 500 people. */
export interface LineMenusRequest {
  readonly channelAccessToken: string;
  readonly userIds: readonly string[];
}

/**
 * What a request about menus proves. `done`: LINE did it, or took it for later where that is said. The others mean what they mean of a
 * send; LINE has no retry keys for menus, and what is ambiguous may be asked for again, being a set.
 */
export type MenuOutcome =
  | { readonly kind: 'done'; readonly status: number; readonly requestId: string }
  | Exclude<LineOutcome, { kind: 'accepted' | 'already' }>;

/** Which menu LINE shows to a person; null: none of their own, as for whoever is no friend. */
export type ShownMenu =
  | { readonly kind: 'shown'; readonly richMenuId: string | null; readonly requestId: string }
  | Exclude<MenuOutcome, { kind: 'done' }>;

type Signal = AbortSignal | undefined;

export interface RichMenuCalls {
  /** Gives a person this menu. Whoever is no friend is `done` too, and gets none. */
  linkRichMenu(request: LineMenuRequest & { readonly richMenuId: string }, signal?: Signal): Promise<MenuOutcome>;
  /** Takes their menu from a person; `done` too when they had none. */
  unlinkRichMenu(request: LineMenuRequest, signal?: Signal): Promise<MenuOutcome>;
  /** Asks what LINE shows. */
  getRichMenu(request: LineMenuRequest, signal?: Signal): Promise<ShownMenu>;
  /** `done` is a promise: LINE does it seconds later, and has been seen not to do it. */
  linkRichMenus(request: LineMenusRequest & { readonly richMenuId: string }, signal?: Signal): Promise<MenuOutcome>;
  /** The same, for no menu. */
  unlinkRichMenus(request: LineMenusRequest, signal?: Signal): Promise<MenuOutcome>;
}

/** The calls about the menus that people see. */
export function richMenuCalls(ask: Ask): RichMenuCalls {
  const path = (userId: string) => `/v2/bot/user/${encodeURIComponent(userId)}/richmenu`;
  const bulk = (what: 'link' | 'unlink', { channelAccessToken, ...body }: LineMenusRequest, signal: Signal) =>
    ask({
      ...{ method: 'POST', channelAccessToken, body: JSON.stringify(body), signal, read: menuOutcome(202) },
      path: `/v2/bot/richmenu/bulk/${what}`,
    });
  return {
    linkRichMenu: ({ channelAccessToken, userId, richMenuId }, signal) =>
      ask({
        ...{ method: 'POST', channelAccessToken, signal, read: menuOutcome(200) },
        path: `${path(userId)}/${encodeURIComponent(richMenuId)}`,
      }),
    unlinkRichMenu: ({ channelAccessToken, userId }, signal) =>
      ask({ method: 'DELETE', path: path(userId), channelAccessToken, signal, read: unlinkOutcome }),
    getRichMenu: ({ channelAccessToken, userId }, signal) =>
      ask({ method: 'GET', path: path(userId), channelAccessToken, signal, read: shownMenu }),
    linkRichMenus: (request, signal) => bulk('link', request, signal),
    unlinkRichMenus: ({ channelAccessToken, userIds }, signal) =>
      bulk('unlink', { channelAccessToken, userIds }, signal),
  };
}

/** As narrow as for a send: the one status, a JSON object, and LINE's name for the request. */
const menuOutcome =
  (success: 200 | 202) =>
  (answer: LineAnswer): MenuOutcome => {
    const outcome = outcomeOfAnswer(answer.status === success ? { ...answer, status: 200 } : notAccepted(answer));
    if (outcome.kind === 'accepted') return { kind: 'done', status: success, requestId: outcome.requestId };
    return outcome.kind === 'already' ? { kind: 'ambiguous', status: 409, detail: '409 without a retry key' } : outcome;
  };

/** Success of another endpoint is none of this one: it came from something in between. */
const notAccepted = (answer: LineAnswer): LineAnswer =>
  answer.status === 200 ? { ...answer, text: undefined, cutOff: 'not the status of success here' } : answer;

function unlinkOutcome(answer: LineAnswer): MenuOutcome {
  const requestId = answer.header('x-line-request-id');
  const hadNone = answer.status === 404 && requestId !== undefined && jsonObject(answer.text) !== undefined;
  return hadNone ? { kind: 'done', status: 404, requestId } : menuOutcome(200)(answer);
}

function shownMenu(answer: LineAnswer): ShownMenu {
  const requestId = answer.header('x-line-request-id');
  const body = jsonObject(answer.text);
  if (answer.status === 404 && requestId !== undefined && body !== undefined)
    return { kind: 'shown', richMenuId: null, requestId };
  const outcome = menuOutcome(200)(answer);
  if (outcome.kind !== 'done') return outcome;
  if (typeof body?.richMenuId === 'string')
    return { kind: 'shown', richMenuId: body.richMenuId, requestId: outcome.requestId };
  return { kind: 'ambiguous', status: 200, detail: '200 without richMenuId' };
}
