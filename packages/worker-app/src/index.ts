export {
  campaignStaleSeconds,
  claimLeaseSeconds,
  directDatabaseUrl,
  reapIntervalSeconds,
  type WorkerConfig,
  workerConfig,
} from './config.ts';
export { publishTickets } from './publish-tickets.ts';
export { tellWhenWritten } from './tell-when-written.ts';
export { runWorker, type Worker } from './worker.ts';
