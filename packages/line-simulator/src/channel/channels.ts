import { createHash } from 'node:crypto';
import { PermanentError } from '@dueline/kernel';
import type { ChannelSettings } from '../config.ts';
import { type Audiences, createAudiences } from './audiences.ts';
import { createIssuedTokens, type IssuedTokens, refOfToken } from './issued-tokens.ts';
import type { Narrowcast } from './narrowcasts.ts';
import { createQuota, type Quota } from './quota.ts';
import type { TokenBucket } from './rate-limit.ts';
import { createReplyTokens, type ReplyTokens } from './reply-tokens.ts';
import type { KeyUse } from './retry-keys.ts';
import { createRichMenus, type RichMenus } from './rich-menus.ts';
import { createSentCounts, type SentCounts } from './sent-counts.ts';
import { createUnits, type Units } from './units.ts';
import { createUsers, type Users } from './users.ts';

/** One channel's state. Replacing a channel makes a new one; the ledger keeps the old one's rows readable. */
export interface Channel {
  /** Place in the ledger's list of channels, from 1. */
  readonly ref: number;
  readonly settings: ChannelSettings;
  readonly botUserId: string;
  readonly users: Users;
  readonly quota: Quota;
  /** By retry key, in lower case. */
  readonly keys: Map<string, KeyUse>;
  /** By endpoint. */
  readonly buckets: Map<string, TokenBucket>;
  /** By endpoint, how many more rate 429s a client is allowed that learns from them. */
  readonly throttled: Map<string, TokenBucket>;
  /** The last request before the pause of the channel was acknowledged; undefined as long as it is not paused. */
  pausedAfter: number | undefined;
  /** Signs webhooks, and is the client secret of a request for a token. */
  readonly secret: string;
  readonly sent: SentCounts;
  readonly tokens: IssuedTokens;
  readonly replyTokens: ReplyTokens;
  readonly richMenus: RichMenus;
  /** By request id. */
  readonly richMenuBatches: Map<string, { readonly acceptedAt: number; completedAt?: number }>;
  readonly audiences: Audiences;
  /** By request id. */
  readonly narrowcasts: Map<string, Narrowcast>;
  readonly units: Units;
  /** When a user last wrote, by ordinal. */
  readonly lastInbound: Map<number, number>;
  /** How many receipts there were when a user last opened the chat, by ordinal. */
  readonly openedUntil: Map<number, number>;
}

export interface Channels {
  /** Adds channels; one of the same id is replaced, with all of its state. */
  put(settings: readonly ChannelSettings[]): void;
  /** @param atMs Issued tokens end. */
  byToken(token: string, atMs: number): Channel | undefined;
  byId(channelId: string): Channel | undefined;
  byRef(ref: number): Channel | undefined;
  list(): readonly Channel[];
}

/** @throws PermanentError if there is no channel of the id. */
export function channelById(channels: Channels, channelId: string): Channel {
  const channel = channels.byId(channelId);
  if (channel === undefined) throw new PermanentError('no such channel', { context: { channelId } });
  return channel;
}

/** @throws PermanentError from `put` if two channels share a token, or a channel's users overlap. */
export function createChannels(): Channels {
  const refs: Channel[] = [];
  let byId = new Map<string, Channel>();
  let byToken = new Map<string, Channel>();
  return {
    put(settings) {
      const next = new Map(byId);
      // Everything is built before anything is replaced, so that a refused call changes nothing.
      const added = settings.map((one, index) => createChannel(one, refs.length + index + 1));
      for (const channel of added) next.set(channel.settings.channelId, channel);
      const tokens = new Map([...next.values()].map((channel) => [channel.settings.channelAccessToken, channel]));
      if (tokens.size !== next.size) throw new PermanentError('two channels share an access token');
      refs.push(...added);
      byId = next;
      byToken = tokens;
    },
    byToken(token, atMs) {
      const configured = byToken.get(token);
      if (configured !== undefined) return configured;
      const owner = refs[(refOfToken(token) ?? 0) - 1];
      // A channel that was replaced has lost its tokens.
      if (owner === undefined || byId.get(owner.settings.channelId) !== owner) return undefined;
      return owner.tokens.isLive(token, atMs) ? owner : undefined;
    },
    byId: (channelId) => byId.get(channelId),
    byRef: (ref) => refs[ref - 1],
    list: () => [...byId.values()],
  };
}

function createChannel(settings: ChannelSettings, ref: number): Channel {
  const digest = createHash('sha256').update(`bot/${settings.channelId}`).digest('hex');
  return {
    ref,
    settings,
    botUserId: `U${digest.slice(0, 32)}`,
    users: createUsers(settings.users),
    quota: createQuota(settings.quota),
    keys: new Map(),
    buckets: new Map(),
    throttled: new Map(),
    pausedAfter: undefined,
    secret: settings.channelSecret ?? `secret-of-${settings.channelId}`,
    sent: createSentCounts(),
    tokens: createIssuedTokens(ref),
    replyTokens: createReplyTokens(),
    richMenus: createRichMenus(settings.richMenuIds),
    richMenuBatches: new Map(),
    audiences: createAudiences(),
    narrowcasts: new Map(),
    units: createUnits(),
    lastInbound: new Map(),
    openedUntil: new Map(),
  };
}
