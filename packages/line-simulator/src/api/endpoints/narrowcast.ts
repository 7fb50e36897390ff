import type { Narrowcast } from '../../channel/narrowcasts.ts';
import { recipientOf } from '../../channel/recipients.ts';
import { type Fields, isFields } from '../../fields.ts';
import { type AcceptEntry, writeAccept, writeLateReceipts } from '../../ledger/ledger-store.ts';
import { extractLids } from '../../ledger/lids.ts';
import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure, requestIdOf } from '../exchange.ts';
import { messageProblems } from '../validation.ts';
import { messagesOf } from './send.ts';

const HOUR_MS = 3_600_000;
/** LINE sends to no smaller audience that is chosen by attributes. */
const FEWEST_BY_ATTRIBUTE = 50;

export const NARROWCAST_ENDPOINT: Endpoint = {
  key: 'narrowcast',
  method: 'POST',
  path: '/v2/bot/message/narrowcast',
  limit: { count: 60, perMs: HOUR_MS },
  isSend: true,
  body: 'json',
  validate,
  answer: accept,
};

export const NARROWCAST_PROGRESS_ENDPOINT: Endpoint = {
  key: 'narrowcast/progress',
  method: 'GET',
  path: '/v2/bot/message/progress/narrowcast',
  limit: { count: 2_000, perMs: 1_000 },
  isSend: false,
  body: 'none',
  answer(exchange) {
    const narrowcast = channelOf(exchange).narrowcasts.get(String(exchange.query.requestId));
    return narrowcast === undefined ? failure(404, 'Not found') : { status: 200, body: progressOf(narrowcast) };
  },
};

function limitOf({ body }: Exchange): Fields {
  return isFields(body?.limit) ? body.limit : {};
}

/** The whole reach is reserved until it is known who the recipients are. */
function validate(exchange: Exchange): Answer | undefined {
  const { users, quota } = channelOf(exchange);
  const { messages, recipient, filter, limit } = exchange.body ?? {};
  const problems = messageProblems(messages);
  if (filter !== undefined && !isFields(filter)) problems.push({ message: 'invalid filter', property: 'filter' });
  if (limit !== undefined && !isFields(limit)) problems.push({ message: 'invalid limit', property: 'limit' });
  const { max, upToRemainingQuota } = limitOf(exchange);
  if (max !== undefined && !(Number.isInteger(max) && Number(max) >= 1)) {
    problems.push({ message: 'Must be at least 1', property: 'limit.max' });
  }
  if (problems.length > 0) return badBody(problems);
  if (recipientOf(channelOf(exchange), recipient) === undefined) return failure(400, 'The recipient is invalid');
  const reach = Math.min(users.friendCount(), typeof max === 'number' ? max : Infinity);
  const count = upToRemainingQuota === true ? Math.min(reach, quota.remaining(exchange.at)) : reach;
  exchange.send = { messages: messagesOf(exchange.body ?? {}), targets: [], requested: count, deliverable: count };
  return undefined;
}

function accept(exchange: Exchange): Answer {
  const channel = channelOf(exchange);
  const { send, at, request, keyUse, store, agenda } = exchange;
  if (send === undefined) throw new Error('a narrowcast is accepted before it was validated');
  const entry: AcceptEntry = {
    channel,
    request,
    at,
    retryKey: keyUse === undefined ? undefined : exchange.retryKey?.toLowerCase(),
    lids: extractLids(send.messages),
    targets: [],
    messageCount: send.messages.length,
    dropped: exchange.hollow === true,
  };
  const { accept: number } = writeAccept(store, entry);
  if (keyUse !== undefined) keyUse.accept = number;
  const narrowcast: Narrowcast = { phase: 'waiting', acceptedAt: at };
  channel.narrowcasts.set(requestIdOf(exchange), narrowcast);
  const step = channel.settings.knobs.narrowcastStepMs;
  channel.quota.reserve(send.requested, at + step);
  agenda.add(at + step, (sendAt) => {
    const targets = targetsOf(exchange, send.requested);
    if (exchange.body?.filter !== undefined && targets.length < FEWEST_BY_ATTRIBUTE) {
      Object.assign(narrowcast, { phase: 'failed', errorCode: 2, completedAt: sendAt });
      return;
    }
    const { delivered } = writeLateReceipts(store, { ...entry, targets }, number);
    channel.quota.consume(delivered, sendAt);
    Object.assign(narrowcast, { phase: 'sending', users: targets, count: delivered });
    agenda.add(sendAt + step, (completedAt) => Object.assign(narrowcast, { phase: 'succeeded', completedAt }));
  });
  return { status: 202, body: {} };
}

/** Who is a friend counts when it is sent. */
function targetsOf(exchange: Exchange, max: number): number[] {
  const channel = channelOf(exchange);
  const isRecipient = recipientOf(channel, exchange.body?.recipient) ?? (() => false);
  const targets: number[] = [];
  if (exchange.hollow === true) return targets;
  for (const user of channel.users.friends()) {
    if (targets.length === max) break;
    if (isRecipient(user)) targets.push(user);
  }
  return targets;
}

function progressOf({ phase, acceptedAt, completedAt, count, errorCode }: Narrowcast) {
  return {
    phase,
    acceptedTime: new Date(acceptedAt).toISOString(),
    ...(completedAt !== undefined && { completedTime: new Date(completedAt).toISOString() }),
    ...(count !== undefined && { targetCount: count }),
    ...(phase === 'succeeded' && { successCount: count, failureCount: 0 }),
    ...(errorCode !== undefined && { errorCode }),
  };
}
