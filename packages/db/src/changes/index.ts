export {
  announceEvents,
  countPublished,
  EVENTS_CHANNEL,
  type EventTicket,
  notifyQueueRatio,
  type OutboxLimits,
  outboxLag,
  releaseEvents,
  untilAnnounced,
} from './announce.ts';
export { type ArchivedEvent, archivedNear, type EventsOf, findArchived, streamArchive } from './archive.ts';
export { depthsOf } from './depth.ts';
export type { EventOf, OutboxEvent } from './event.ts';
export {
  failEvent,
  giveUpEvent,
  type HeldEvent,
  holdEvents,
  MAX_EVENT_RESCUES,
  recoverEventsInHand,
  suspectEvents,
} from './fail.ts';
export { type ReplayRange, replayable, replayEvents } from './replay.ts';
export { retryEvents } from './retry.ts';
export { peekEventUsers, takeEventAlone, takeEvents } from './take.ts';
export { claimEvents, type TakenEvents, takeFreshEvents } from './take-fresh.ts';
