import type { LeafResult } from '@dueline/conditions';
import type { ArchivedEvent } from '@dueline/db/changes';
import type { CycleThen } from './cycles/find-cycle.ts';
import type { DecidedRow } from './decided.ts';
import type { Verdict } from './judge.ts';
import type { ExplainReason } from './reasons.ts';
import type { RuleVersion } from './rule-then.ts';
import type { Step } from './step.ts';

/** What is found of a question, before it is put into a sentence. */
export interface Told {
  readonly fired: boolean;
  readonly reason: ExplainReason;
  readonly basis: 'history' | 'computed';
  readonly version: RuleVersion | undefined;
  readonly row?: DecidedRow | undefined;
  readonly archived?: ArchivedEvent | undefined;
  readonly cycle?: CycleThen | undefined;
  /** What evaluator and limits make of it; undefined: there is nothing to judge. */
  readonly computed?: Verdict | undefined;
  readonly steps: readonly Step[];
  readonly leaves: readonly LeafResult[];
  /** What was decided last of an action of a cycle; undefined: it waits, or there is none. */
  readonly last?: DecidedRow | undefined;
  /** What became of what waited, the first first. */
  readonly aftermath?: readonly DecidedRow[] | undefined;
}

/** Fired, or waits. */
export const FIRED: ReadonlySet<string> = new Set(['fired', 'scheduled']);
