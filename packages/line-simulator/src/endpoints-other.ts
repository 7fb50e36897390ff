import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure, violate } from './exchange.ts';
import { isUserId } from './user-ids.ts';
import { messageProblems } from './validation.ts';

const PER_SECOND = { count: 2_000, perMs: 1_000 };
const read = { method: 'GET', limit: PER_SECOND, isSend: false, hasBody: false } as const;
const OK: Answer = { status: 200, body: {} };
const DEFAULT_PAGE = 300;
const MAX_PAGE = 1_000;

/** Everything else that is played so far: checks of messages, quota, users, and a user's rich menu. */
export const OTHER_ENDPOINTS: readonly Endpoint[] = [
  ...['push', 'multicast', 'broadcast'].map(
    (kind): Endpoint => ({
      key: `validate/${kind}`,
      method: 'POST',
      path: `/v2/bot/message/validate/${kind}`,
      limit: PER_SECOND,
      isSend: false,
      hasBody: true,
      validate(exchange) {
        const problems = messageProblems(exchange.body?.messages);
        return problems.length > 0 ? badBody(problems) : undefined;
      },
      answer: () => OK,
    }),
  ),
  {
    ...read,
    key: 'quota',
    path: '/v2/bot/message/quota',
    answer: (exchange) => ({ status: 200, body: channelOf(exchange).quota.setting }),
  },
  {
    ...read,
    key: 'quota/consumption',
    path: '/v2/bot/message/quota/consumption',
    answer: (exchange) => ({
      status: 200,
      body: { totalUsage: channelOf(exchange).quota.consumed(exchange.at) },
    }),
  },
  { ...read, key: 'profile', path: '/v2/bot/profile/:userId', validate: validateUser, answer: profile },
  { ...read, key: 'followers', path: '/v2/bot/followers/ids', answer: followers },
  {
    ...read,
    key: 'info',
    path: '/v2/bot/info',
    answer(exchange) {
      const { settings, botUserId } = channelOf(exchange);
      return {
        status: 200,
        body: {
          userId: botUserId,
          basicId: `@${botUserId.slice(1, 9)}`,
          displayName: settings.name,
          chatMode: 'bot',
          markAsReadMode: 'auto',
        },
      };
    },
  },
  {
    ...read,
    key: 'richmenu/get',
    path: '/v2/bot/user/:userId/richmenu',
    validate: validateUser,
    answer(exchange) {
      const { users, richMenuOf } = channelOf(exchange);
      const richMenuId = richMenuOf.get(users.find(exchange.params.userId ?? '') ?? -1);
      return richMenuId === undefined
        ? failure(404, 'the user has no richmenu')
        : { status: 200, body: { richMenuId } };
    },
  },
  {
    ...read,
    key: 'richmenu/link',
    method: 'POST',
    path: '/v2/bot/user/:userId/richmenu/:richMenuId',
    validate: validateLink,
    answer: link,
  },
  {
    ...read,
    key: 'richmenu/unlink',
    method: 'DELETE',
    path: '/v2/bot/user/:userId/richmenu',
    validate: validateUser,
    answer(exchange) {
      if (exchange.hollow) return OK;
      const { users, richMenuOf } = channelOf(exchange);
      richMenuOf.delete(users.find(exchange.params.userId ?? '') ?? -1);
      return OK;
    },
  },
];

function validateUser(exchange: Exchange): Answer | undefined {
  const { userId } = exchange.params;
  if (!isUserId(userId)) return failure(400, "The value for the 'userId' parameter is invalid");
  if (channelOf(exchange).users.find(userId) === undefined) violate(exchange, { code: 'V11', user: userId });
  return undefined;
}

function validateLink(exchange: Exchange): Answer | undefined {
  const refused = validateUser(exchange);
  if (refused !== undefined) return refused;
  const known = channelOf(exchange).settings.richMenuIds.includes(exchange.params.richMenuId ?? '');
  return known ? undefined : failure(404, 'Not found');
}

/** Whoever is no friend gets 200 all the same, and no menu. */
function link(exchange: Exchange): Answer {
  if (exchange.hollow) return OK;
  const { users, richMenuOf } = channelOf(exchange);
  const user = users.find(exchange.params.userId ?? '');
  if (user !== undefined && users.isFriend(user)) richMenuOf.set(user, exchange.params.richMenuId ?? '');
  return OK;
}

function profile(exchange: Exchange): Answer {
  const { users } = channelOf(exchange);
  const userId = exchange.params.userId ?? '';
  const user = users.find(userId);
  if (user === undefined || !users.isFriend(user)) return failure(404, 'Not found');
  return { status: 200, body: { userId, displayName: `User ${user}`, language: 'ja' } };
}

function followers(exchange: Exchange): Answer {
  const { users } = channelOf(exchange);
  const limit = Number(exchange.query.limit ?? DEFAULT_PAGE);
  const start = Number.parseInt(String(exchange.query.start ?? '0'), 36);
  if (!Number.isInteger(limit) || limit < 1) return failure(400, "The value for the 'limit' parameter is invalid");
  if (!Number.isInteger(start) || start < 0) return failure(400, "The value for the 'start' parameter is invalid");
  const userIds: string[] = [];
  for (const user of users.friends(start)) {
    // One friend more than the page holds is the next page's start.
    if (userIds.length === Math.min(limit, MAX_PAGE))
      return { status: 200, body: { userIds, next: user.toString(36) } };
    userIds.push(users.idOf(user));
  }
  return { status: 200, body: { userIds } };
}
