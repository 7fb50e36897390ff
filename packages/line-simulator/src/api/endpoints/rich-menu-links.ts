import type { RichMenus } from '../../channel/rich-menus.ts';
import { isUserId } from '../../channel/user-ids.ts';
import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure } from '../exchange.ts';
import { firstInvalidUserId, invalidProperty, userCountProblems } from '../validation.ts';
import { noteUnknownUsers, validateUser } from './users.ts';

const PER_SECOND = { count: 2_000, perMs: 1_000 };
const one = { limit: PER_SECOND, isSend: false, body: 'none' } as const;
const bulk = { method: 'POST', limit: PER_SECOND, isSend: false, body: 'json' } as const;
const OK: Answer = { status: 200, body: {} };
const LATER: Answer = { status: 202, body: {} };

/** Which menu a user sees. Whoever is no friend is answered like a friend, and gets no menu. */
export const RICH_MENU_LINK_ENDPOINTS: readonly Endpoint[] = [
  {
    ...one,
    method: 'GET',
    key: 'richmenu/get',
    path: '/v2/bot/user/:userId/richmenu',
    validate: validateUser,
    answer(exchange) {
      const { users, richMenus } = channelOf(exchange);
      const richMenuId = richMenus.linkedTo(users.find(exchange.params.userId ?? '') ?? -1);
      return richMenuId === undefined
        ? failure(404, 'the user has no richmenu')
        : { status: 200, body: { richMenuId } };
    },
  },
  {
    ...one,
    method: 'POST',
    key: 'richmenu/link',
    path: '/v2/bot/user/:userId/richmenu/:richMenuId',
    validate: validateLink,
    answer(exchange) {
      apply(exchange, [exchange.params.userId ?? ''], exchange.params.richMenuId);
      return OK;
    },
  },
  {
    ...one,
    method: 'DELETE',
    key: 'richmenu/unlink',
    path: '/v2/bot/user/:userId/richmenu',
    validate: validateUser,
    answer(exchange) {
      apply(exchange, [exchange.params.userId ?? ''], undefined);
      return OK;
    },
  },
  {
    ...bulk,
    key: 'richmenu/bulk/link',
    path: '/v2/bot/richmenu/bulk/link',
    validate: (exchange) => validateUsers(exchange) ?? validateBulkMenu(exchange),
    answer: (exchange) => applyLater(exchange, String(exchange.body?.richMenuId)),
  },
  {
    ...bulk,
    key: 'richmenu/bulk/unlink',
    path: '/v2/bot/richmenu/bulk/unlink',
    validate: validateUsers,
    answer: (exchange) => applyLater(exchange, undefined),
  },
];

/** LINE's own text for a menu that has no image yet. */
function withoutImage(richMenus: RichMenus, richMenuId: string): Answer | undefined {
  return richMenus.hasImage(richMenuId)
    ? undefined
    : failure(400, 'must upload richmenu image before applying it to user');
}

function validateLink(exchange: Exchange): Answer | undefined {
  const { richMenus } = channelOf(exchange);
  const refused = validateUser(exchange);
  if (refused !== undefined) return refused;
  const { richMenuId = '' } = exchange.params;
  return richMenus.has(richMenuId) ? withoutImage(richMenus, richMenuId) : failure(404, 'Not found');
}

function validateUsers(exchange: Exchange): Answer | undefined {
  const userIds = exchange.body?.userIds;
  const problems = userCountProblems(userIds, 'userIds');
  if (problems.length > 0) return badBody(problems);
  const list: unknown[] = Array.isArray(userIds) ? userIds : [];
  const invalid = firstInvalidUserId(list);
  if (invalid >= 0) return failure(400, invalidProperty(`userIds[${invalid}]`));
  noteUnknownUsers(exchange, list.filter(isUserId));
  return undefined;
}

function validateBulkMenu(exchange: Exchange): Answer | undefined {
  const { richMenus } = channelOf(exchange);
  const richMenuId = exchange.body?.richMenuId;
  if (typeof richMenuId !== 'string' || richMenuId === '') {
    return badBody([{ message: 'invalid richMenuId', property: 'richMenuId' }]);
  }
  return richMenus.has(richMenuId) ? withoutImage(richMenus, richMenuId) : failure(404, 'richmenu not found');
}

function apply(exchange: Exchange, userIds: readonly string[], richMenuId: string | undefined): void {
  if (exchange.hollow === true) return;
  const { users, richMenus } = channelOf(exchange);
  for (const userId of userIds) {
    const user = users.find(userId);
    if (user === undefined) continue;
    if (richMenuId === undefined) richMenus.unlink(user);
    else if (users.isFriend(user)) richMenus.link(user, richMenuId);
  }
}

/** Who is a friend counts when it is applied, and so does whether the menu is still there. */
function applyLater(exchange: Exchange, richMenuId: string | undefined): Answer {
  const { settings, richMenus } = channelOf(exchange);
  const listed: unknown = exchange.body?.userIds;
  const userIds = Array.isArray(listed) ? listed.filter(isUserId) : [];
  exchange.agenda.add(exchange.at + settings.knobs.bulkDelayMs, () => {
    if (richMenuId === undefined || richMenus.has(richMenuId)) apply(exchange, userIds, richMenuId);
  });
  return LATER;
}
