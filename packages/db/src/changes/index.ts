export {
  announceEvents,
  type EventTicket,
  type OutboxLimits,
  outboxLag,
  releaseEvents,
} from './announce.ts';
export { type AttributeChange, type OutboxEvent, takeEvents } from './take.ts';
