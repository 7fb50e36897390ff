/** Slots for work in hand: bounds how much runs at once, and lets a stop wait for it. */
export interface InHand {
  /** Resolves with a slot, in the order asked; false when the signal aborted or no new work is taken any more. */
  take(signal: AbortSignal): Promise<boolean>;
  /** Takes a slot if one is free at once. */
  tryTake(): boolean;
  /** Gives a slot back. */
  give(): void;
  /** Takes no new work and resolves when every slot is back. */
  drain(): Promise<void>;
}

export function createInHand(slots: number): InHand {
  let free = slots;
  let closed = false;
  const waiting: ((granted: boolean) => void)[] = [];
  const emptied = Promise.withResolvers<void>();
  const settle = () => {
    if (closed && free === slots) emptied.resolve();
  };
  const tryTake = () => {
    if (closed || free === 0) return false;
    free -= 1;
    return true;
  };
  return {
    tryTake,
    take: (signal) => {
      if (closed || signal.aborted) return Promise.resolve(false);
      if (tryTake()) return Promise.resolve(true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.push(resolve);
      signal.addEventListener(
        'abort',
        () => {
          const at = waiting.indexOf(resolve);
          if (at >= 0) waiting.splice(at, 1);
          resolve(false);
        },
        { once: true },
      );
      return promise;
    },
    give: () => {
      const next = waiting.shift();
      if (next !== undefined) return next(true);
      free += 1;
      settle();
    },
    drain: () => {
      closed = true;
      for (const refuse of waiting.splice(0)) refuse(false);
      settle();
      return emptied.promise;
    },
  };
}

/** So many slots of the whole, at most, for one kind of work, so that it never takes all of them from the others. */
export function createPart(whole: InHand, slots: number): InHand {
  const own = createInHand(slots);
  return {
    take: async (signal) => {
      if (!(await own.take(signal))) return false;
      if (await whole.take(signal)) return true;
      own.give();
      return false;
    },
    tryTake: () => {
      if (!own.tryTake()) return false;
      if (whole.tryTake()) return true;
      own.give();
      return false;
    },
    give: () => {
      whole.give();
      own.give();
    },
    drain: () => own.drain(),
  };
}
