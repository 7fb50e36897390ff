/** Where a cycle can stand. `failed`: its people could not be read to the end. One whose people failed is completed, and says how many. */
export type CycleStatus = 'processing' | 'completed' | 'failed' | 'cancelled' | 'skipped';

/** Every allowed move; each bumps the fence. The guard trigger of the table refuses everything else; a test compares the two. */
export const TRANSITIONS = {
  processing: ['processing', 'completed', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
  skipped: [],
} as const satisfies Record<CycleStatus, readonly CycleStatus[]>;
