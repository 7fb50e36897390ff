export {
  ACTION_CONFIGS,
  ACTION_TYPES,
  type ActionConfig,
  type ActionRequest,
  type ActionType,
  PERFORMED_BY,
  RULE_ACTION_CONFIGS,
  type RuleAction,
  type RuleActionDraft,
} from './actions.ts';
export {
  CAMPAIGN_STATUS,
  CAST_TYPE,
  type CampaignStatus,
  type CastType,
  MAX_RECIPIENTS_PER_CHUNK,
} from './campaigns.ts';
export {
  MAX_MESSAGES_PER_ACTION,
  MAX_MESSAGES_PER_REQUEST,
  MAX_TEXT_LENGTH,
  type MessageTemplate,
  type TextMessage,
  textMessage,
} from './content.ts';
export { CYCLE_KEY_PREFIX } from './cycles.ts';
export { type Delay, delay, MAX_DELAY_SECONDS } from './delays.ts';
export {
  type AttributeChange,
  BOOKING_EVENT_TYPES,
  type BookingEventType,
  DELIVERY_ENDS,
  type DeliveryEnd,
  EVENT_PAYLOADS,
  EVENT_TOPICS,
  type EventPayloads,
  type EventTopic,
  FRIEND_EVENT_TYPES,
  type FriendEventType,
  type PayloadSchema,
} from './events.ts';
export { bigintId, fence, lineUserId, type Tenant, type TenantTicket, type Ticket, tenant, ticket } from './ids.ts';
export {
  actionExecute,
  attributeChanged,
  bookingEvent,
  type CampaignTicket,
  campaignClick,
  campaignTicket,
  customEvent,
  deliverySettled,
  type Envelope,
  EXCHANGES,
  envelope,
  formSubmitted,
  friendTrackEventInserted,
  lineBroadcastRichMessage,
  lineDeliveryChunk,
  lineMulticastRichMessage,
  MAX_TICKETS_PER_MESSAGE,
  processCampaign,
  QUEUE_OF_TOPIC,
  QUEUES,
  type Queue,
  scheduledActionFire,
  scheduledActionFireNow,
  scheduledTriggerFire,
  type Tick,
  type Tickets,
  tickets,
  webhookCall,
} from './messages.ts';
export { attributeName, MAX_ATTRIBUTE_NAME_LENGTH } from './names.ts';
export { type Recipient, type Rendered, renderMessages, renderWebhookData } from './render.ts';
export { ROUTES, type RoutedApp, type Routes } from './routes.ts';
export { type ScheduledTimeConfig, scheduledTimeConfig } from './schedules.ts';
export {
  customEventName,
  FREQUENCIES,
  type Frequency,
  REENTRIES,
  type Reentry,
  RULE_MODES,
  type RuleMode,
  type Scalar,
  SOURCE_FILTERS,
  SOURCE_TYPES,
  type SourceType,
  scalar,
} from './sources.ts';
export { isStorable, NOT_STORABLE } from './storable.ts';
export {
  branchName,
  DEFAULT_BRANCH,
  DUE_BRANCH,
  EXPIRED_BRANCH,
  MAX_WAITS,
  WAIT_SOURCES,
  type WaitFor,
  type WaitSource,
  waitFor,
} from './waits.ts';
export type { WebhookData } from './webhooks.ts';
