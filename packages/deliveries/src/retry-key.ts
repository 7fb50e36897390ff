import { hash } from 'node:crypto';

/** What brings messages to people. */
export type SendEndpoint = 'push' | 'multicast' | 'broadcast';
/** What changes the rich menu that a person sees. */
export type MenuEndpoint = 'richmenu_link' | 'richmenu_unlink';
/** What calls another service. */
export type WebhookEndpoint = 'webhook';

/** What a LINE request is, apart from its content. The same send has the same name over every attempt, worker and restart. */
export interface LogicalSend {
  readonly channelId: string;
  readonly kind: 'campaign' | 'action' | 'event' | 'test';
  /** campaign id, scheduled_action id, `<campaign id>:<uuid>` for each test of a campaign, or `<event id>:<rule id>` for an action that runs at once. */
  readonly logicalId: string;
  /** 1, and one more for each deliberate re-run. */
  readonly epoch: number;
  readonly endpoint: SendEndpoint | MenuEndpoint | WebhookEndpoint;
  /** Chunk number, or message group when one action needs more than one request. */
  readonly ordinal: number;
  /** '' or the path of 0 and 1 by which a refused chunk was split. */
  readonly splitPath: string;
}

/**
 * What the retry key of a send is derived from; no other send has the same.
 *
 * @throws Error when a field contains `/`, which would let two sends share a name.
 */
export function retryKeyName(send: LogicalSend): string {
  const fields = [
    'lrk1',
    send.channelId,
    send.kind,
    send.logicalId,
    send.epoch,
    send.endpoint,
    send.ordinal,
    send.splitPath,
  ];
  if (fields.some((field) => String(field).includes('/'))) throw new Error('a field of a retry key contains a slash');
  return fields.join('/');
}

/**
 * The `X-Line-Retry-Key` of a send: UUIDv8 (RFC 9562) of the SHA-256 of its name. LINE accepts a key once in 24 hours, so a
 * request that is repeated with it, by whomever, reaches people at most once. For menus LINE takes none; there it only names the send. Receivers of
 * webhooks get it as the id, and are told to take an id once.
 *
 * @throws Error as {@link retryKeyName} does.
 */
export function retryKey(send: LogicalSend): string {
  const hex = hash('sha256', retryKeyName(send), 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
