export {
  announceEvents,
  type EventTicket,
  type OutboxLimits,
  outboxLag,
  releaseEvents,
} from './announce.ts';
export {
  failEvent,
  giveUpEvent,
  type HeldEvent,
  holdEvents,
  MAX_EVENT_RESCUES,
  recoverEventsInHand,
  suspectEvents,
} from './fail.ts';
export { type AttributeChange, type OutboxEvent, takeEventAlone, takeEvents } from './take.ts';
