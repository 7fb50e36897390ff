export {
  type AnnouncedDelivery,
  announceCampaignDeliveries,
  announceDeliveries,
  unpublishDeliveries,
} from './announce.ts';
export { giveBackBroadcastPlaces, type Screened, takeBroadcastPlaces } from './broadcast-limit.ts';
export { type CancelledDelivery, cancelDeliveries } from './cancel.ts';
export { cancelCampaignDeliveries, type StoppedRequests } from './cancel-campaign.ts';
export { CEILINGS, startsInSeconds } from './chunk-times.ts';
export { type ClosedDelivery, closeOverdueDeliveries } from './close-overdue.ts';
export { createDeliveries, type DeliveryToCreate } from './create.ts';
export { createAlongside, type SendOfAction } from './create-alongside.ts';
export { type ChunkToCreate, createChunkDeliveries } from './create-chunks.ts';
export { createMenuDeliveries, type MenuDeliveryToCreate } from './create-menus.ts';
export { createTestDeliveries, type TestSend } from './create-tests.ts';
export { createWebhookDeliveries, type WebhookDeliveryToCreate } from './create-webhooks.ts';
export type { CreatedDelivery } from './insert.ts';
export { DELIVERY_INVARIANTS } from './invariants.ts';
export { mayBegin } from './may-begin.ts';
export { takePace } from './pace.ts';
export { type PostponedTicket, postponeDeliveries } from './postpone.ts';
export { postponeQuiet } from './postpone-quiet.ts';
export { reapDeliveries, reapEarlierBoots } from './reap.ts';
export { type EarlierRefusal, loadRefusals, type Refusals } from './refusals.ts';
export { type RefusedDelivery, refusedAmong } from './refused.ts';
export { renewDeliveries } from './renew.ts';
export { repaceChunks } from './repace.ts';
export { type Resent, resendDeliveries } from './resend.ts';
export {
  type FailedStatus,
  listUnknownOfCampaign,
  type RetriedRequest,
  retryCampaignDeliveries,
} from './retry-campaign.ts';
export {
  type LogicalSend,
  type MenuEndpoint,
  retryKey,
  retryKeyName,
  type SendEndpoint,
  type WebhookEndpoint,
} from './retry-key.ts';
export {
  type AcceptedPeople,
  type Comparison,
  claimSentDays,
  countSentDays,
  deficitOf,
  lookLater,
  type PeopleByEndpoint,
  recordComparison,
  type SentDay,
} from './sent-counts.ts';
export { type AttemptResult, type Settlement, settleDeliveries } from './settle.ts';
export { type Start, type StartedDelivery, type StartedSend, startDeliveries, type Verdict } from './start.ts';
export { type StartedMenu, startMenuDeliveries } from './start-menus.ts';
export { type StartedWebhook, startWebhookDeliveries } from './start-webhooks.ts';
export { findStartable } from './startable.ts';
export { DELIVERY_STATUSES, type DeliveryStatus, RETRY_KEY_HOURS, TRANSITIONS } from './state.ts';
export { type AttemptOutcome, type NextStep, nextStep } from './verdict.ts';
export { wakeDeliveries } from './wake.ts';
