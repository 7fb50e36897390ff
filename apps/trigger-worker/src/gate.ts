/** Keeps what is decided alone apart from everything else that this process decides. */
export interface Gate {
  /** Runs beside other work of this kind. */
  together<T>(work: () => Promise<T>): Promise<T>;
  /** Runs while nothing else does. Both kinds begin in the order in which they came, so that neither starves. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

export function createGate(): Gate {
  const running = new Set<Promise<unknown>>();
  let lastAlone: Promise<unknown> = Promise.resolve();
  const track = (run: Promise<unknown>) => {
    running.add(run);
    void run.finally(() => running.delete(run));
  };
  const settled = async (run: Promise<unknown>) => {
    await Promise.allSettled([run]);
  };
  return {
    together: (work) => {
      const before = lastAlone;
      const run = before.then(work);
      track(settled(run));
      return run;
    },
    alone: (work) => {
      const before = [lastAlone, ...running];
      const run = Promise.all(before).then(work);
      lastAlone = settled(run);
      return run;
    },
  };
}
