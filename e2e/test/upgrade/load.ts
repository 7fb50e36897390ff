import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import type { Planned } from '@dueline/stress';
import * as story from './story.ts';

const EVERY_MS = 300;
/** People who are left to others, however long it takes. */
const LEFT = 150;

/** Somebody changes every now and then, until told to stop, or until few are left who have not. */
export interface Load {
  /** Resolves when the last change is written. @throws What a change threw: no writer may feel an upgrade. */
  stop(): Promise<void>;
}

/** @param planned Gets what each change is to lead to. */
export function startLoad(db: Db, cast: story.Cast, planned: Planned[]): Load {
  const stopped = new AbortController();
  const running = (async () => {
    for (; !stopped.signal.aborted && cast.left() > LEFT; await sleep(EVERY_MS, stopped.signal))
      planned.push(...(await changeSome(db, cast, 1)));
  })();
  running.catch(() => undefined); // stop() tells
  return {
    stop: () => {
      stopped.abort();
      return running;
    },
  };
}

/** So many people change, and as many others do one thing of each kind. @returns What that is to lead to. */
export async function changeSome(db: Db, cast: story.Cast, count: number, facts = 0): Promise<Planned[]> {
  const [moved, busy] = [cast.next(count), cast.next(facts)];
  await story.change(db, moved, { city: 'Oslo' });
  if (facts > 0) await story.happen(db, cast.tenantOf('rules'), busy);
  return [...story.plannedFor(moved, story.CITY_LIDS), ...story.plannedFor(busy, story.FACT_LIDS)];
}
