export type { Deviation, DeviationCode } from './deviations.ts';
export { type Compared, type DryRun, type DryRunRequest, dryRun } from './dry-run.ts';
export type { Message } from './playback.ts';
export type { DayOfRun, RunOfRule, Sample } from './tally.ts';
