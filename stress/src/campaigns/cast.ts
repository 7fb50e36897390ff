import type { Database } from '@dueline/db';
import type { Stack } from '@dueline/demo';
import type { ProductClock } from '../chaos/clock.ts';
import type { LineControl } from '../chaos/line.ts';
import type { Fleet } from '../fleet.ts';
import type { CampaignPlan } from './plan.ts';
import type { UntilShare } from './progress.ts';
import type { Stage, StagedCampaign } from './stage.ts';

/** Everything in a run that its scenes work with. */
export interface Cast {
  readonly plan: CampaignPlan;
  readonly stack: Stack;
  readonly database: Database;
  readonly line: LineControl;
  readonly stage: Stage;
  readonly fleet: Fleet;
  readonly clock: ProductClock;
  readonly untilShare: UntilShare;
}

/** What was acknowledged to a person who stopped a campaign, in milliseconds of LINE's clock. */
export interface Stopped {
  readonly verb: 'pause' | 'cancel';
  readonly campaign: StagedCampaign;
  readonly atMs: number;
  readonly untilMs?: number;
  /** From the wish to the acknowledgement, in milliseconds. */
  readonly waitedMs: number;
}

/** What a person does in the middle of a run. @returns What was acknowledged. */
export type Act = (cast: Cast, signal: AbortSignal) => Promise<Stopped[]>;
