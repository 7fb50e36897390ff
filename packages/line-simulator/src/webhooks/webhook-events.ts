import { randomBytes } from 'node:crypto';
import type { Channel } from '../channel/channels.ts';

/** What a user did. */
export type UserDeed =
  | { readonly type: 'follow'; readonly isUnblocked: boolean }
  | { readonly type: 'unfollow' }
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'postback'; readonly data: string };

/** One event of a webhook, without the delivery context, which is the delivery's. */
export interface WebhookEvent {
  readonly type: string;
  readonly webhookEventId: string;
  readonly timestamp: number;
  readonly replyToken?: string;
  readonly [field: string]: unknown;
}

/** Digits of a ULID, in which order of text is order of time. */
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;

function ulid(atMs: number): string {
  let time = '';
  for (let rest = atMs; time.length < TIME_DIGITS; rest = Math.floor(rest / 32)) time = CROCKFORD[rest % 32] + time;
  return time + [...randomBytes(RANDOM_DIGITS)].map((byte) => CROCKFORD[byte % 32]).join('');
}

/** The event of a deed; all but an unfollow can be replied to. */
export function eventOf(channel: Channel, user: number, { deed, at }: { deed: UserDeed; at: number }): WebhookEvent {
  return {
    type: deed.type,
    mode: 'active',
    timestamp: at,
    source: { type: 'user', userId: channel.users.idOf(user) },
    webhookEventId: ulid(at),
    ...(deed.type !== 'unfollow' && { replyToken: channel.replyTokens.issue(user, at) }),
    ...fieldsOf(deed, at),
  };
}

/** An event of a kind that no client can know. */
export function unknownEvent(at: number): WebhookEvent {
  return { type: 'unheardOf', mode: 'active', timestamp: at, webhookEventId: ulid(at), unheardOf: { field: 1 } };
}

function fieldsOf(deed: UserDeed, at: number): Record<string, unknown> {
  switch (deed.type) {
    case 'follow':
      return { follow: { isUnblocked: deed.isUnblocked } };
    case 'unfollow':
      return {};
    case 'message': {
      const id = `6${String(at).padStart(17, '0')}`;
      return { message: { type: 'text', id, quoteToken: `quote-${id}`, text: deed.text } };
    }
    case 'postback':
      return { postback: { data: deed.data } };
  }
}
