import { isUserId } from '../../channel/user-ids.ts';
import { type Answer, channelOf, type Endpoint, type Exchange, failure, violate } from '../exchange.ts';

const read = { method: 'GET', limit: { count: 2_000, perMs: 1_000 }, isSend: false, body: 'none' } as const;
const DEFAULT_PAGE = 300;
const MAX_PAGE = 1_000;

/** Who the users are. */
export const USER_ENDPOINTS: readonly Endpoint[] = [
  { ...read, key: 'profile', path: '/v2/bot/profile/:userId', validate: validateUser, answer: profile },
  { ...read, key: 'followers', path: '/v2/bot/followers/ids', answer: followers },
];

/** Of every path with a `:userId`. */
export function validateUser(exchange: Exchange): Answer | undefined {
  const { userId } = exchange.params;
  if (!isUserId(userId)) return failure(400, "The value for the 'userId' parameter is invalid");
  if (channelOf(exchange).users.find(userId) === undefined) violate(exchange, { code: 'V11', user: userId });
  return undefined;
}

/** V11 for every id that the channel does not know. */
export function noteUnknownUsers(exchange: Exchange, userIds: readonly string[]): void {
  const { users } = channelOf(exchange);
  for (const user of userIds) if (users.find(user) === undefined) violate(exchange, { code: 'V11', user });
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
