export type { Clock } from './clock.ts';
export type { ChannelConfig, UserState } from './config.ts';
export type {
  AcceptRow,
  Ledger,
  LedgerFilter,
  ReceiptRow,
  RequestRow,
  SummaryRow,
  ViolationRow,
} from './ledger.ts';
export type { MetricsSnapshot } from './metrics.ts';
export { createSimulator, type Simulator, type SimulatorOptions } from './simulator.ts';
export { nthUserId } from './user-ids.ts';
