export type { Ahead } from './cycles/ahead.ts';
export type { DecidedRow, DeliveryFate } from './decided.ts';
export type { Deviation, DeviationCode } from './deviations.ts';
export { type Compared, type DryRun, type DryRunRequest, dryRun } from './dry-run.ts';
export { type ExplainRequest, type Explanation, explain } from './explain.ts';
export type { Message } from './playback.ts';
export { EXPLAIN_REASONS, type ExplainReason, sayReason } from './reasons.ts';
export type { Step } from './steps.ts';
export type { DayOfRun, RunOfRule, Sample } from './tally.ts';
