import { z } from 'zod';
import type { EventTopic } from './events.ts';
import { bigintId, fence, tenant, ticket } from './ids.ts';

/** Seeds of one message: at most this many tickets, of one account. Source: measured, a message of 50 to 500 is 8 times cheaper. */
export const MAX_TICKETS_PER_MESSAGE = 100;

/** What every ticket message carries as its data. */
export const tickets = z.object({ tickets: z.array(ticket).min(1).max(MAX_TICKETS_PER_MESSAGE) });
export type Tickets = z.infer<typeof tickets>;

/**
 * The body of every message. Readers ignore unknown fields; bodies only grow, a new field is optional.
 * Instants are RFC 3339 in UTC with milliseconds.
 */
export const envelope = z.object({
  /** Stable across re-publishing of the same message. */
  id: z.uuid(),
  type: z.string().min(1).max(64),
  version: z.number().int().min(1),
  publishedAt: z.iso.datetime(),
  /** The app that published it. */
  source: z.string().min(1).max(64),
  tenant,
  data: z.unknown(),
});
export type Envelope = z.infer<typeof envelope>;

/** `dueline.commands`: one sender says what one receiver shall do. `dueline.events`: what happened. Both topic exchanges. */
export const EXCHANGES = {
  commands: 'dueline.commands',
  events: 'dueline.events',
  deadLetters: 'dueline.dlx',
} as const;

/** A queue as data: its name is also its routing key and the type of its messages. */
export interface Queue<Data> {
  readonly name: string;
  readonly exchange: typeof EXCHANGES.commands | typeof EXCHANGES.events;
  /** Version of `data` that producers write; consumers keep a message of a later version back until they are deployed. */
  readonly version: number;
  readonly data: z.ZodType<Data>;
  /** Its messages are empty: that one came is all that it says. */
  readonly tick?: Tick;
}

/** A queue of ticks holds the newest one only, for so long: what is older says nothing more. There are no dead letters. */
export interface Tick {
  readonly ttlMs: number;
}

const defineQueue = <Data>(queue: Queue<Data>): Queue<Data> => queue;

const defineTick = (queue: Pick<Queue<null>, 'name' | 'exchange'> & { readonly tick: Tick }): Queue<null> => ({
  ...queue,
  version: 1,
  data: z.null(),
});

/** pg-listener -> trigger-worker: attributes of users changed; tickets on rows of event_outbox. */
export const attributeChanged = defineQueue({
  name: 'attribute_changed',
  exchange: EXCHANGES.events,
  version: 1,
  data: tickets,
});

/** pg-listener -> trigger-worker: forms were submitted; tickets on rows of event_outbox. */
export const formSubmitted = defineQueue({
  name: 'form_submitted',
  exchange: EXCHANGES.events,
  version: 1,
  data: tickets,
});

/** pg-listener -> trigger-worker: links were clicked, in a message of whatever origin; tickets on rows of event_outbox. */
export const campaignClick = defineQueue({
  name: 'campaign_click',
  exchange: EXCHANGES.events,
  version: 1,
  data: tickets,
});

/** pg-listener -> trigger-worker: people followed an account or left it; tickets on rows of event_outbox. */
export const friendTrackEventInserted = defineQueue({
  name: 'friend_track_event_inserted',
  exchange: EXCHANGES.events,
  version: 1,
  data: tickets,
});

/** pg-listener -> trigger-worker: something became of a booking; tickets on rows of event_outbox. */
export const bookingEvent = defineQueue({
  name: 'booking_event',
  exchange: EXCHANGES.events,
  version: 1,
  data: tickets,
});

/** pg-listener -> trigger-worker: other services told of something, a purchase or a cart; tickets on rows of event_outbox. */
export const customEvent = defineQueue({
  name: 'custom_event',
  exchange: EXCHANGES.events,
  version: 1,
  data: tickets,
});

/** pg-listener -> trigger-worker: messages that somebody waits for came to their end; tickets on rows of event_outbox. */
export const deliverySettled = defineQueue({
  name: 'delivery_settled',
  exchange: EXCHANGES.events,
  version: 1,
  data: tickets,
});

/** cron-scheduler -> trigger-worker: claimed rows of scheduled_action have come due. */
export const scheduledActionFire = defineQueue({
  name: 'scheduled_action_fire',
  exchange: EXCHANGES.commands,
  version: 1,
  data: tickets,
});

/** The same for rows of lane 0, which somebody waits for: they overtake whatever crowd has come due beside them. */
export const scheduledActionFireNow = defineQueue({
  name: 'scheduled_action_fire.now',
  exchange: EXCHANGES.commands,
  version: 1,
  data: tickets,
});

/** cron-scheduler -> trigger-worker: opened cycles of time-based rules go on; tickets on rows of scheduled_trigger_execution. */
export const scheduledTriggerFire = defineQueue({
  name: 'scheduled_trigger_fire',
  exchange: EXCHANGES.commands,
  version: 1,
  data: tickets,
});

/** cron-scheduler -> campaign-dispatcher: look for campaigns whose time has come. Source: the seeds' process_campaign. */
export const processCampaign = defineTick({
  name: 'process_campaign',
  exchange: EXCHANGES.commands,
  tick: { ttlMs: 60_000 },
});

/** A claimed campaign as it travels: the seeds' payload, and the fence of the claim. */
export const campaignTicket = z.object({
  campaignId: bigintId,
  audienceId: bigintId.nullable(),
  organizationId: bigintId,
  lineOaId: bigintId,
  fence,
});
export type CampaignTicket = z.infer<typeof campaignTicket>;

/** campaign-dispatcher -> line-delivery: a claimed campaign to all friends of its account. */
export const lineBroadcastRichMessage = defineQueue({
  name: 'line_broadcast_rich_message',
  exchange: EXCHANGES.commands,
  version: 1,
  data: campaignTicket,
});

/** campaign-dispatcher -> line-delivery: a claimed campaign to an audience. */
export const lineMulticastRichMessage = defineQueue({
  name: 'line_multicast_rich_message',
  exchange: EXCHANGES.commands,
  version: 1,
  data: campaignTicket,
});

/** line-delivery, cron-scheduler -> line-delivery: planned chunks of a campaign may be started. */
export const lineDeliveryChunk = defineQueue({
  name: 'line_delivery_chunk',
  exchange: EXCHANGES.commands,
  version: 1,
  data: tickets,
});

/** trigger-worker, cron-scheduler -> line-delivery: planned rows of delivery may be started. */
export const actionExecute = defineQueue({
  name: 'action_execute',
  exchange: EXCHANGES.commands,
  version: 1,
  data: tickets,
});

/** trigger-worker, cron-scheduler -> line-delivery: planned webhooks may be called; a receiver that is slow holds up no message. */
export const webhookCall = defineQueue({
  name: 'webhook_call',
  exchange: EXCHANGES.commands,
  version: 1,
  data: tickets,
});

/** The queue of each topic of the outbox, so that a click never waits behind a bulk change of attributes. */
export const QUEUE_OF_TOPIC: Readonly<Record<EventTopic, Queue<Tickets>>> = {
  attribute_changed: attributeChanged,
  form_submitted: formSubmitted,
  campaign_click: campaignClick,
  friend_track_event_inserted: friendTrackEventInserted,
  booking_event: bookingEvent,
  custom_event: customEvent,
  delivery_settled: deliverySettled,
};

/** Every queue there is. Topology, documentation and tests are made from this list. */
export const QUEUES: readonly Queue<unknown>[] = [
  ...Object.values(QUEUE_OF_TOPIC),
  scheduledActionFire,
  scheduledActionFireNow,
  scheduledTriggerFire,
  actionExecute,
  processCampaign,
  lineBroadcastRichMessage,
  lineMulticastRichMessage,
  lineDeliveryChunk,
  webhookCall,
];
