export {
  announceEvents,
  type EventTicket,
  type OutboxLimits,
  outboxLag,
  releaseEvents,
} from './announce.ts';
export type { EventOf, OutboxEvent } from './event.ts';
export { failEvent, peekEventUsers, takeEvents } from './take.ts';
