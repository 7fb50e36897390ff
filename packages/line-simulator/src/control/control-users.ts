import { PermanentError } from '@dueline/kernel';
import type { FastifyInstance } from 'fastify';
import type { Stage } from '../api/exchange.ts';
import { type Channel, channelById } from '../channel/channels.ts';
import type { Clock } from '../clock.ts';
import {
  type Deed,
  deedCommand,
  openCommand,
  seedCommand,
  tapCommand,
  type UserState,
  usersCommand,
} from '../config.ts';
import { openChat, tapLink } from '../webhooks/devices.ts';
import { eventOf, type UserDeed, type WebhookEvent } from '../webhooks/webhook-events.ts';
import type { WebhookRow } from '../webhooks/webhooks.ts';

interface Deps {
  stage(): Stage;
  readonly clock: Clock;
}

/** Users as a whole, and what a single one does; what one does is told to the channel's webhook. */
export function addUserRoutes(app: FastifyInstance, deps: Deps): void {
  app.post('/__sim/users/block', (request) => setStates(deps, request.body, 'blocked'));
  app.post('/__sim/users/unblock', (request) => setStates(deps, request.body, 'friend'));
  app.post('/__sim/users/delete', (request) => setStates(deps, request.body, 'deleted'));
  app.post('/__sim/users/forget', (request) => setStates(deps, request.body, 'unknown'));
  app.post('/__sim/users/seed', (request) => {
    const { channelId, users } = seedCommand.parse(request.body);
    return { users: channelById(deps.stage().channels, channelId).users.seed(users) };
  });
  app.post<{ Params: { userId: string } }>('/__sim/users/:userId/open', async ({ params, body }) => {
    const { channelId, ...options } = openCommand.parse(body);
    return { fetched: await openChat(chatOf(deps, channelId, params.userId), options) };
  });
  app.post<{ Params: { userId: string } }>('/__sim/users/:userId/tap', async ({ params, body }) => {
    const { channelId, ...options } = tapCommand.parse(body);
    return tapLink(chatOf(deps, channelId, params.userId), options);
  });
  app.post<{ Params: { userId: string; deed: string } }>('/__sim/users/:userId/:deed', ({ params, body }) =>
    actAs(deps, params.userId, deedCommand.parse({ ...(body as object | null), deed: params.deed })),
  );
  app.get('/__sim/webhooks', () => ({ webhooks: deps.stage().webhooks.rows() }));
}

function setStates({ stage }: Deps, body: unknown, state: UserState | 'unknown'): { changed: number } {
  const { channelId, userIds, fraction, seed } = usersCommand.parse(body);
  const { users } = channelById(stage().channels, channelId);
  const named = (userIds ?? []).map((userId) => users.find(userId)).filter((user) => user !== undefined);
  const from = state === 'friend' ? 'blocked' : 'friend';
  const drawn = fraction === undefined ? [] : users.draw(from, { fraction, seed });
  for (const user of [...named, ...drawn]) users.setState(user, state);
  return { changed: named.length + drawn.length };
}

function chatOf({ stage }: Deps, channelId: string, userId: string) {
  const { store, channels } = stage();
  const channel = channelById(channels, channelId);
  return { channel, store, user: userIn(channel, userId) };
}

function userIn(channel: Channel, userId: string): number {
  const user = channel.users.find(userId);
  if (user === undefined) throw new PermanentError('the user was never seeded', { context: { userId } });
  return user;
}

async function actAs(
  { stage, clock }: Deps,
  userId: string,
  command: Deed,
): Promise<{ state: string; event: WebhookEvent | null; deliveries: WebhookRow[] }> {
  const { webhooks, channels } = stage();
  const channel = channelById(channels, command.channelId);
  const user = userIn(channel, userId);
  const at = clock.now();
  const others = command.emit.mixWith.map((id) => userIn(channel, id));
  const deed = change(channel, user, command);
  const isInbound = deed?.type === 'message' || deed?.type === 'postback';
  if (isInbound) channel.lastInbound.set(user, at);
  const state = channel.users.stateOf(user);
  if (deed === undefined) return { state, event: null, deliveries: [] };
  const event = eventOf(channel, user, { deed, at });
  const beside = others.map((other) => eventOf(channel, other, { deed: { type: 'message', text: 'hi' }, at }));
  return { state, event, deliveries: await webhooks.emit(channel, [event, ...beside], command.emit) };
}

/** Changes the state and says what LINE tells of it; of an account that is deleted it tells nothing. */
function change({ users }: Channel, user: number, command: Deed): UserDeed | undefined {
  const before = users.stateOf(user);
  if (before === 'deleted') throw new PermanentError('a deleted account does nothing');
  switch (command.deed) {
    case 'follow':
    case 'unblock':
      users.setState(user, 'friend');
      return { type: 'follow', isUnblocked: before === 'blocked' };
    case 'block':
      users.setState(user, 'blocked');
      return { type: 'unfollow' };
    case 'delete':
      users.setState(user, 'deleted');
      return undefined;
    case 'message':
    case 'postback':
      if (before === 'blocked') throw new PermanentError('who blocked the account does not reach it');
      return command.deed === 'message'
        ? { type: 'message', text: command.text }
        : { type: 'postback', data: command.data };
  }
}
