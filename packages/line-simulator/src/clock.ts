/** The only source of time of the simulator, in milliseconds since 1970; a virtual clock takes its place in tests. */
export interface Clock {
  now(): number;
}

/** The time of this machine. */
export const systemClock: Clock = { now: () => Date.now() };
