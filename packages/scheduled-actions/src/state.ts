export const SCHEDULED_ACTION_STATUSES = ['pending', 'processing', 'done', 'failed', 'cancelled'] as const;
export type ScheduledActionStatus = (typeof SCHEDULED_ACTION_STATUSES)[number];

/**
 * Every allowed move; each bumps the fence. A move to the same status is a change of owner or definition (an edit, a fact).
 * The guard trigger of the table refuses everything else; a test compares the two. From pending straight to done or failed goes what is
 * decided by whoever holds its lock, in the transaction that would have claimed it; what fails to be decided is decided alone, and claimed
 * before.
 */
export const TRANSITIONS = {
  pending: ['processing', 'pending', 'done', 'failed', 'cancelled'],
  processing: ['done', 'pending', 'failed', 'cancelled'],
  done: [],
  failed: ['pending'],
  cancelled: ['pending'],
} as const satisfies Record<ScheduledActionStatus, readonly ScheduledActionStatus[]>;

/** Rows per claim. Source: the seeds' batchSize. */
export const batchSize = 500;
/** Failed decisions after which a row fails: one try and three retries. Source: the seeds' maxRetries. */
export const maxRetries = 3;
/** Minutes after which a claim without news is taken back: the lease. Source: the seeds' staleProcessingMinute. */
export const staleProcessingMinute = 5;
/** Seconds after its expiry that a waiting row is left alone, so that a fact in time which is still on its way decides it. */
export const waitGraceSeconds = 15;
/** Processes that a row may kill while it is alone in their hand; with one more it fails. */
export const MAX_RESCUES = 4;
