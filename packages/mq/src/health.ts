import { ServiceError } from '@dueline/kernel';
import type { BrokerState } from './types.ts';

export interface Health {
  state(blocked: boolean): BrokerState;
  problems(): readonly string[];
  /** To be called after everything that may have ended or made a problem. */
  changed(): void;
  ready(): Promise<void>;
  close(): void;
}

/** Readiness as the absence of problems. */
export function createHealth(problems: () => readonly string[]): Health {
  let closed = false;
  let waiters: PromiseWithResolvers<void>[] = [];
  const state = (blocked: boolean): BrokerState => {
    if (closed) return 'closed';
    if (blocked) return 'blocked';
    return problems().length === 0 ? 'ready' : 'connecting';
  };
  const changed = () => {
    if (waiters.length === 0 || state(false) !== 'ready') return;
    for (const waiter of waiters) waiter.resolve();
    waiters = [];
  };
  return {
    state,
    problems,
    changed,
    ready: (): Promise<void> => {
      if (closed) return Promise.reject(new ServiceError('broker is closed'));
      const waiter = Promise.withResolvers<void>();
      waiters.push(waiter);
      changed();
      return waiter.promise;
    },
    close: () => {
      closed = true;
      for (const waiter of waiters) waiter.reject(new ServiceError('broker is closed'));
      waiters = [];
    },
  };
}
