import { ServiceError } from '@dueline/kernel';
import type { Log } from './log.ts';

/** Registers how to stop what was just started. What is registered last is stopped first. May be async. */
export type OnStop = (name: string, stop: () => unknown) => void;

export type StopSteps = {
  readonly register: OnStop;
  /** Runs the registered steps, last first, each to its end. A step that throws is logged; the others still run. */
  run(): Promise<void>;
};

/** The list of what has to be stopped. */
export function createStopSteps(log: Log): StopSteps {
  const steps: { readonly name: string; readonly stop: () => unknown }[] = [];
  let stopping = false;

  return {
    register(name, stop) {
      steps.push({ name, stop });
      // A start that is still going on would open more and more; the error ends it, the step is stopped with the rest.
      if (stopping) throw new ServiceError('the service is stopping', { context: { step: name } });
    },
    async run() {
      stopping = true;
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        const startedAt = performance.now();
        try {
          await step.stop();
          log.info({ step: step.name, ms: Math.round(performance.now() - startedAt) }, 'stopped a part');
        } catch (error) {
          const ms = Math.round(performance.now() - startedAt);
          log.error({ step: step.name, ms, err: error }, 'a part did not stop cleanly');
        }
      }
    },
  };
}
