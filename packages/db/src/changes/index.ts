export {
  announceEvents,
  type EventTicket,
  type OutboxLimits,
  outboxLag,
  releaseEvents,
} from './announce.ts';
export { type AttributeChange, failEvent, type OutboxEvent, takeEvents } from './take.ts';
