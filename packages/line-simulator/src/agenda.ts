import type { Clock } from './clock.ts';

/** What LINE does later on its own: once the simulator's clock is there, and before anything looks at the outcome. */
export interface Agenda {
  /** `work` is told the time it was due, however late it runs. */
  add(at: number, work: (at: number) => void): void;
  /** Does all that is due, in order of time. Cheap when nothing is. */
  runDue(nowMs: number): void;
  /** Nothing more happens. */
  close(): void;
}

/** Looks again at least this often, for a clock that is moved tells nobody. */
const MAX_SLEEP_MS = 1_000;
const MIN_SLEEP_MS = 5;

export function createAgenda(clock: Clock): Agenda {
  let entries: { at: number; work: (at: number) => void }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  const sleep = () => {
    clearTimeout(timer);
    const next = entries[0];
    if (next === undefined || closed) return;
    const wait = Math.min(Math.max(next.at - clock.now(), MIN_SLEEP_MS), MAX_SLEEP_MS);
    timer = setTimeout(() => {
      agenda.runDue(clock.now());
      sleep();
    }, wait).unref();
  };

  const agenda: Agenda = {
    add(at, work) {
      if (closed) return;
      const index = entries.findLastIndex((entry) => entry.at <= at);
      entries.splice(index + 1, 0, { at, work });
      sleep();
    },
    runDue(nowMs) {
      for (let next = entries[0]; next !== undefined && next.at <= nowMs; next = entries[0]) {
        entries.shift();
        next.work(next.at);
      }
    },
    close() {
      closed = true;
      entries = [];
      clearTimeout(timer);
    },
  };
  return agenda;
}
