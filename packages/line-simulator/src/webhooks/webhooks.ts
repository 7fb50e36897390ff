import { createHmac } from 'node:crypto';
import { errorText } from '@dueline/kernel';
import type { Agenda } from '../agenda.ts';
import type { Channel } from '../channel/channels.ts';
import type { Clock } from '../clock.ts';
import type { EmitOptions } from '../config.ts';
import { unknownEvent, type WebhookEvent } from './webhook-events.ts';

/** One attempt to deliver a webhook. */
export interface WebhookRow {
  readonly at: string;
  readonly channelId: string;
  readonly webhookEventIds: readonly string[];
  readonly isRedelivery: boolean;
  readonly status: number | 'failed';
  readonly reason: string | null;
}

/** Tells channels what their users did, as LINE does: signed, within two seconds, again if that is switched on. */
export interface Webhooks {
  /** Ends when what goes out at once is answered; what is held back or delayed comes later. */
  emit(channel: Channel, events: readonly WebhookEvent[], options: EmitOptions): Promise<WebhookRow[]>;
  /** Every attempt so far, in order of its end. */
  rows(): readonly WebhookRow[];
  close(): void;
}

interface Delivery {
  readonly channel: Channel;
  readonly events: readonly WebhookEvent[];
  readonly signature: EmitOptions['signature'];
  readonly attempt: number;
  readonly isRedelivery: boolean;
}

const ANSWER_WITHIN_MS = 2_000;
const MAX_ATTEMPTS = 4;

export function createWebhooks(clock: Clock, agenda: Agenda): Webhooks {
  const rows: WebhookRow[] = [];
  const held = new Map<Channel, Delivery[]>();
  const closing = new AbortController();

  const deliver = async (delivery: Delivery): Promise<WebhookRow> => {
    const { channel, events, isRedelivery, attempt } = delivery;
    const at = clock.now();
    if (isRedelivery) {
      for (const { replyToken } of events) if (replyToken !== undefined) channel.replyTokens.renew(replyToken, at);
    }
    const row: WebhookRow = {
      at: new Date(at).toISOString(),
      channelId: channel.settings.channelId,
      webhookEventIds: events.map((event) => event.webhookEventId),
      isRedelivery,
      ...(await post(delivery, closing.signal)),
    };
    rows.push(row);
    const arrived = row.status !== 'failed' && row.status >= 200 && row.status < 300;
    if (!arrived && channel.settings.webhook?.redelivery === true && attempt < MAX_ATTEMPTS) {
      later(channel.settings.knobs.redeliveryDelayMs, { ...delivery, attempt: attempt + 1, isRedelivery: true });
    }
    return row;
  };
  const later = (delayMs: number, delivery: Delivery) =>
    agenda.add(clock.now() + delayMs, () => void deliver(delivery));

  return {
    async emit(channel, events, { times, redeliver, hold, delayMs, ...options }) {
      if (channel.settings.webhook?.active !== true) return [];
      const sent = options.empty ? [] : [...(options.unknownType ? [unknownEvent(clock.now())] : []), ...events];
      const first = { channel, events: sent, signature: options.signature, attempt: 1, isRedelivery: false };
      const deliveries: Delivery[] = Array.from({ length: times }, () => first);
      if (redeliver) deliveries.push({ ...first, isRedelivery: true });
      if (hold) {
        held.set(channel, [...(held.get(channel) ?? []), ...deliveries]);
        return [];
      }
      if (delayMs > 0) {
        for (const delivery of deliveries) later(delayMs, delivery);
        return [];
      }
      const overtaken = held.get(channel) ?? [];
      held.delete(channel);
      const results: WebhookRow[] = [];
      for (const delivery of [...deliveries, ...overtaken]) results.push(await deliver(delivery));
      return results;
    },
    rows: () => rows,
    close: () => closing.abort(),
  };
}

async function post({ channel, events, signature, isRedelivery }: Delivery, closing: AbortSignal) {
  const body = JSON.stringify({
    destination: channel.botUserId,
    events: events.map((event) => ({ ...event, deliveryContext: { isRedelivery } })),
  });
  // A wrong signature is one by another secret: well formed, and of these very bytes.
  const secret = signature === 'wrong' ? `not-${channel.secret}` : channel.secret;
  try {
    const response = await fetch(channel.settings.webhook?.url ?? '', {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'LineBotWebhook/2.0',
        ...(signature !== 'missing' && { 'x-line-signature': sign(secret, body) }),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([closing, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
    });
    await response.body?.cancel();
    return { status: response.status, reason: null };
  } catch (error) {
    return { status: 'failed' as const, reason: errorText(error) };
  }
}

/** base64 of HMAC-SHA256 over the exact bytes of the body. */
export function sign(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body, 'utf8').digest('base64');
}
