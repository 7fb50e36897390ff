import { currentTraceparent, withSpan } from '@dueline/runtime';

/**
 * A span for the decision on one row, in the trace that the row carries, else in that of the message. What follows from
 * the decision carries the traceparent that comes back; undefined when nothing is traced.
 */
export async function traceDecision(name: string, rowTraceparent: string | null): Promise<string | undefined> {
  if (rowTraceparent === null && currentTraceparent() === undefined) return undefined;
  const cause = currentTraceparent(); // the message that brought the row, in a trace of its own where the row has one
  const links = cause === undefined ? [] : [cause];
  return withSpan(name, { parent: rowTraceparent ?? undefined, links }, () => currentTraceparent());
}
