export { createLineClient, type LineClient, type LineRequest } from './client.ts';
export type { LineOutcome, ThrottleReason } from './outcome.ts';
