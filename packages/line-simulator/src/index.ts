export { nthUserId } from './channel/user-ids.ts';
export { checkHistory, type HistoryReport, type HistoryToCheck } from './checker/check-history.ts';
export type { AttemptOutcome, CheckOptions, ExportRecord, RecipientState } from './checker/export-format.ts';
export { exportRecord } from './checker/export-format.ts';
export type { Finding, FoundAccept, FoundAttempt, InvariantId } from './checker/findings.ts';
export { ledgerOfFolder, ledgerOfSimulator, readExport } from './checker/jsonl.ts';
export type { LedgerSource } from './checker/ledger-source.ts';
export type { Clock } from './clock.ts';
export type { ChannelConfig, UserState } from './config.ts';
export type { FaultHits, Faults } from './faults/engine.ts';
export type { FaultRule, FaultRules } from './faults/rules.ts';
export type { Scenario } from './faults/scenario.ts';
export type {
  AcceptRow,
  Ledger,
  LedgerFilter,
  ReceiptRow,
  RequestRow,
  SummaryRow,
  ViolationRow,
} from './ledger/ledger.ts';
export { extractLids } from './ledger/lids.ts';
export type { MetricsSnapshot } from './metrics.ts';
export { createSimulator, type Simulator, type SimulatorOptions } from './simulator.ts';
