export {
  campaignStaleSeconds,
  claimLeaseSeconds,
  directDatabaseUrl,
  listenForDue,
  reapIntervalSeconds,
  type WorkerConfig,
  waitGrace,
  workerConfig,
} from './config.ts';
export { type DeliveryTicket, publishDeliveries } from './publish-deliveries.ts';
export { publishTickets } from './publish-tickets.ts';
export { type ClaimingOptions, startClaiming } from './start-claiming.ts';
export { tellWhenWritten } from './tell-when-written.ts';
export { wakeOnNotify } from './wake-on-notify.ts';
export { runWorker, type Worker } from './worker.ts';
