/** A narrowcast on its way; nobody receives before it is `sending`. */
export interface Narrowcast {
  readonly phase: 'waiting' | 'sending' | 'succeeded' | 'failed';
  readonly acceptedAt: number;
  readonly completedAt?: number;
  /** Ordinals of those it went to. */
  readonly users?: readonly number[];
  readonly count?: number;
  readonly errorCode?: number;
}
