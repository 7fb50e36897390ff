import { COUNTED_SENDS } from '../../channel/sent-counts.ts';
import { isUserId } from '../../channel/user-ids.ts';
import type { Fields } from '../../fields.ts';
import { sentMessages, writeAccept } from '../../ledger/ledger-store.ts';
import { extractLids } from '../../ledger/lids.ts';
import { linksOf } from '../../ledger/links.ts';
import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure, violate } from '../exchange.ts';
import {
  firstInvalidUserId,
  invalidProperty,
  messageProblems,
  optionProblems,
  userCountProblems,
} from '../validation.ts';

const HOUR_MS = 3_600_000;
const INBOUND_REACH_MS = 7 * 24 * HOUR_MS;
const send = { method: 'POST', isSend: true, body: 'json' } as const;

/** Push, multicast and broadcast: the endpoints that take a retry key and reach people. */
export const SEND_ENDPOINTS: readonly Endpoint[] = [
  {
    ...send,
    key: 'push',
    path: '/v2/bot/message/push',
    limit: { count: 2_000, perMs: 1_000 },
    validate: validatePush,
    answer: (exchange) => ({
      status: 200,
      body: { sentMessages: sentMessages(exchange.store, acceptSend(exchange)) },
    }),
  },
  {
    ...send,
    key: 'multicast',
    path: '/v2/bot/message/multicast',
    limit: { count: 200, perMs: 1_000 },
    validate: validateMulticast,
    answer: acceptWithoutIds,
  },
  {
    ...send,
    key: 'broadcast',
    path: '/v2/bot/message/broadcast',
    limit: { count: 60, perMs: HOUR_MS },
    validate: validateBroadcast,
    answer: acceptWithoutIds,
  },
];

function acceptWithoutIds(exchange: Exchange): Answer {
  acceptSend(exchange);
  return { status: 200, body: {} };
}

/** A friend, or someone who wrote to the account within the last seven days. */
function reachOf(exchange: Exchange): (user: number) => boolean {
  const { users, lastInbound } = channelOf(exchange);
  return (user) => {
    if (users.isFriend(user)) return true;
    const wroteAt = users.stateOf(user) === 'stranger' ? lastInbound.get(user) : undefined;
    return wroteAt !== undefined && wroteAt >= exchange.at - INBOUND_REACH_MS;
  };
}

/** Writes accept and receipts, counts the quota, and from here on the key answers 409. Returns the accept's number. */
export function acceptSend(exchange: Exchange): number {
  const channel = channelOf(exchange);
  const { send: plan, at, request } = exchange;
  if (plan === undefined) throw new Error('a send is accepted before it was validated');
  const retryKey = exchange.keyUse === undefined ? undefined : exchange.retryKey?.toLowerCase();
  const { accept, delivered } = writeAccept(exchange.store, {
    channel,
    request,
    at,
    retryKey,
    lids: extractLids(plan.messages),
    targets: plan.targets,
    messageCount: plan.messages.length,
    dropped: exchange.hollow === true,
    receives: plan.receives,
  });
  if (exchange.endpoint.isFree !== true) channel.quota.consume(delivered, at);
  const counted = COUNTED_SENDS.find((kind) => kind === exchange.endpoint.key);
  if (counted !== undefined) channel.sent.add(counted, delivered, at);
  const units: unknown = exchange.body?.customAggregationUnits;
  if (Array.isArray(units)) for (const unit of units) channel.units.count(String(unit), delivered, at);
  // Most sends have none, and the bytes tell that at once.
  const links = exchange.rawBody?.includes('http') === true ? linksOf(plan.messages) : undefined;
  if (links !== undefined) exchange.store.links.set(accept, links);
  if (exchange.keyUse !== undefined) exchange.keyUse.accept = accept;
  return accept;
}

function validatePush(exchange: Exchange): Answer | undefined {
  const { users } = channelOf(exchange);
  const body = exchange.body ?? {};
  const problems = [...messageProblems(body.messages), ...optionProblems(body)];
  if (problems.length > 0) return badBody(problems);
  if (!isUserId(body.to)) return failure(400, invalidProperty('to'));
  const target = users.find(body.to);
  if (target === undefined) {
    violate(exchange, { code: 'V11', user: body.to });
    return failure(400, 'Failed to send messages');
  }
  planForOne(exchange, target);
  return undefined;
}

/** The plan of a push or a reply. */
export function planForOne(exchange: Exchange, user: number): void {
  const receives = reachOf(exchange);
  exchange.send = {
    messages: messagesOf(exchange.body ?? {}),
    targets: [user],
    requested: 1,
    deliverable: receives(user) ? 1 : 0,
    receives,
  };
}

function validateMulticast(exchange: Exchange): Answer | undefined {
  const { users, settings } = channelOf(exchange);
  const body = exchange.body ?? {};
  const problems = [...userCountProblems(body.to, 'to'), ...messageProblems(body.messages), ...optionProblems(body)];
  if (problems.length > 0) return badBody(problems);
  const to: unknown[] = Array.isArray(body.to) ? body.to : [];
  const invalid = firstInvalidUserId(to);
  if (invalid >= 0) return failure(400, invalidProperty(`to[${invalid}]`));
  const userIds = to.filter(isUserId);
  noteDoubtfulUsers(exchange, userIds);
  const unknown = userIds.findIndex((userId) => users.find(userId) === undefined);
  if (unknown >= 0 && settings.knobs.multicastUnknownUser === 'reject400') {
    return failure(400, invalidProperty(`to[${unknown}]`));
  }
  const ordinals = userIds.map((userId) => users.record(userId));
  const targets = settings.knobs.duplicateTo === 'collapse' ? [...new Set(ordinals)] : ordinals;
  exchange.send = {
    messages: messagesOf(body),
    targets,
    requested: targets.length,
    deliverable: targets.filter((target) => users.isFriend(target)).length,
  };
  return undefined;
}

function noteDoubtfulUsers(exchange: Exchange, userIds: readonly string[]): void {
  const { users } = channelOf(exchange);
  const seen = new Set<string>();
  for (const user of userIds) {
    if (seen.has(user)) violate(exchange, { code: 'V9', user });
    else if (users.find(user) === undefined) violate(exchange, { code: 'V11', user });
    seen.add(user);
  }
}

function validateBroadcast(exchange: Exchange): Answer | undefined {
  const { users } = channelOf(exchange);
  const body = exchange.body ?? {};
  const problems = [...messageProblems(body.messages), ...optionProblems(body)];
  if (problems.length > 0) return badBody(problems);
  const friends = users.friendCount();
  exchange.send = {
    messages: messagesOf(body),
    targets: users.friends(),
    requested: friends,
    deliverable: friends,
  };
  return undefined;
}

export function messagesOf(body: Fields): unknown[] {
  return Array.isArray(body.messages) ? body.messages : [];
}
