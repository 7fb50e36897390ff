import { type CalendarSpec, createCalendar } from '../src/calendar.ts';

/** The next `count` beginnings after an instant, in UTC. */
export function runs(spec: CalendarSpec, after: string, count: number): string[] {
  const calendar = createCalendar(spec);
  const found: string[] = [];
  for (let last: Date | undefined = new Date(after); found.length < count; ) {
    last = calendar.next(last);
    if (last === undefined) break;
    found.push(last.toISOString().slice(0, 16));
  }
  return found;
}
