import type { Clock } from './date.ts';

/** What a condition is judged by. What its `requirements` do not name may be left empty. */
export interface Facts {
  /** A Map, so that an attribute named `__proto__` is a key like any other. */
  readonly attributes: ReadonlyMap<string, unknown>;
  /** Fields of the event, by the JSON pointers that the condition names; what is not there is absent. */
  readonly event: ReadonlyMap<string, unknown>;
  /** Whether the person is in an audience, by its id; an audience that is not there does not exist. */
  readonly audiences: ReadonlyMap<string, boolean>;
  readonly clock: Clock;
}

/** For conditions that ask about the person's attributes only. */
export const NO_EVENT: ReadonlyMap<string, unknown> = new Map();
export const NO_AUDIENCES: ReadonlyMap<string, boolean> = new Map();
