export {
  type ChannelSecret,
  createLineAccountClient,
  type LineAccountClient,
  type MonthlyQuota,
  type TokenIssue,
  type Validation,
} from './account-client.ts';
export { createLineClient, type LineClient, type LineRequest } from './client.ts';
export type { LineOutcome, ThrottleReason } from './outcome.ts';
export type { LineMenuRequest, LineMenusRequest, MenuOutcome, ShownMenu } from './rich-menus.ts';
export { type CountedEndpoint, createSentCountClient, type SentCount, type SentCountClient } from './sent-counts.ts';
