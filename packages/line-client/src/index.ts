export { createLineClient, type LineClient, type LineRequest } from './client.ts';
export type { LineOutcome, ThrottleReason } from './outcome.ts';
export { type CountedEndpoint, createSentCountClient, type SentCount, type SentCountClient } from './sent-counts.ts';
