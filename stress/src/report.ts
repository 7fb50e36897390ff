import type { Endings } from './endings.ts';
import type { Fleet } from './fleet.ts';
import type { History } from './history.ts';
import type { Meddler } from './messages.ts';
import type { People } from './people.ts';
import type { Plan } from './plan.ts';

const SAMPLE = 20;

interface Found {
  readonly seed: number;
  readonly profile: string;
  readonly processes: number;
  readonly seconds: number;
  readonly behindMs: number;
  readonly receipts: number;
  readonly endings: Endings;
  readonly history: History;
  readonly fleet: Pick<Fleet, 'counts' | 'ended'>;
  readonly people: People;
  readonly meddler: Pick<Meddler, 'counts'>;
  readonly deadlocks: number;
  readonly plan: Pick<Plan, 'actions' | 'clicks'>;
}

/** What was done and what was found, as one line of JSON has it. */
export function report(found: Found) {
  const { seed, profile, processes, seconds, endings, history, fleet, people, meddler, deadlocks, plan } = found;
  const lists: Readonly<Record<string, readonly string[]>> = {
    ...history,
    ...{ early: endings.early, wrong: endings.wrong, stale: people.stale, ended: fleet.ended },
  };
  const violations = Object.values(lists).reduce((sum, list) => sum + list.length, 0);
  return {
    ...{ seed, profile, processes, actions: plan.actions.length, receipts: found.receipts, ...endings.counts },
    ...{ ...fleet.counts, ...meddler.counts, operations: people.counts, refused: Object.fromEntries(people.refused) },
    ...{ clicks: plan.clicks.length, deadlocks, behindMs: found.behindMs, seconds, violations },
    samples: Object.fromEntries(
      Object.entries(lists).flatMap(([name, list]) => (list.length === 0 ? [] : [[name, list.slice(0, SAMPLE)]])),
    ),
  };
}
export type Report = ReturnType<typeof report>;
