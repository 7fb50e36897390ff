import {
  actionExecute,
  lineBroadcastRichMessage,
  lineDeliveryChunk,
  lineMulticastRichMessage,
  processCampaign,
  QUEUE_OF_TOPIC,
  type Queue,
  scheduledActionFire,
  scheduledActionFireNow,
  scheduledTriggerFire,
  webhookCall,
} from './messages.ts';

/** What an app does at the broker. */
export interface Routes {
  readonly publishes: readonly Queue<unknown>[];
  readonly consumes: readonly Queue<unknown>[];
}

const events = Object.values(QUEUE_OF_TOPIC);

/**
 * Who publishes to which queue, and who consumes it; the one place for it. Permissions at the broker are made from it: what it does not
 * say is refused.
 */
export const ROUTES = {
  'pg-listener': { publishes: events, consumes: [] },
  'trigger-worker': {
    publishes: [actionExecute, webhookCall],
    consumes: [...events, scheduledActionFire, scheduledActionFireNow, scheduledTriggerFire],
  },
  'cron-scheduler': {
    publishes: [
      ...[scheduledActionFire, scheduledActionFireNow, scheduledTriggerFire],
      ...[actionExecute, webhookCall, lineDeliveryChunk, processCampaign],
    ],
    consumes: [],
  },
  'campaign-dispatcher': {
    publishes: [lineBroadcastRichMessage, lineMulticastRichMessage],
    consumes: [processCampaign],
  },
  'line-delivery': {
    publishes: [lineDeliveryChunk],
    consumes: [actionExecute, webhookCall, lineDeliveryChunk, lineBroadcastRichMessage, lineMulticastRichMessage],
  },
} satisfies Readonly<Record<string, Routes>>;

/** An app that talks to the broker. */
export type RoutedApp = keyof typeof ROUTES;
