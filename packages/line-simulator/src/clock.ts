import { PermanentError } from '@dueline/kernel';
import type { ClockCommand } from './config.ts';

/** The only source of time of the simulator, in milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/** The time of this machine. */
export const systemClock: Clock = { now: () => Date.now() };

/** A clock that runs beside another one, or stands still until it is moved. */
export interface MovableClock extends Clock {
  /**
   * `aheadMs` and `setMs` name a place, `advanceMs` a step, which may lead back.
   *
   * @throws PermanentError when `aheadMs` would turn the clock back, or is given to a clock that stands still.
   */
  move(command: ClockCommand): void;
}

export function movableClock(clock: Clock): MovableClock {
  let ahead = 0;
  let stillAt: number | undefined;
  const current = () => stillAt ?? clock.now() + ahead;
  const set = (ms: number) => {
    if (stillAt === undefined) ahead = ms - clock.now();
    else stillAt = ms;
  };
  return {
    now: current,
    move(command) {
      if ('advanceMs' in command) set(current() + command.advanceMs);
      else if ('setMs' in command) set(command.setMs);
      else if ('mode' in command) {
        const at = current();
        stillAt = command.mode === 'virtual' ? at : undefined;
        set(at);
      } else {
        if (stillAt !== undefined) throw new PermanentError('a virtual clock has no machine to be ahead of');
        if (command.aheadMs < ahead) throw new PermanentError('time only moves forward');
        ahead = command.aheadMs;
      }
    },
  };
}
