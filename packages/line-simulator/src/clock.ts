import { PermanentError } from '@dueline/kernel';

/** The only source of time of the simulator, in milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/** The time of this machine. */
export const systemClock: Clock = { now: () => Date.now() };

/** A clock that runs ahead of another one. */
export interface MovableClock extends Clock {
  /** How far ahead it is from now on, in milliseconds. @throws PermanentError when that would turn it back. */
  moveAhead(aheadMs: number): void;
}

export function movableClock(clock: Clock): MovableClock {
  let ahead = 0;
  return {
    now: () => clock.now() + ahead,
    moveAhead: (aheadMs) => {
      if (aheadMs < ahead) throw new PermanentError('time only moves forward');
      ahead = aheadMs;
    },
  };
}
