export { announceCycles, releaseCycle, releaseEarlierBoots, unpublishCycles } from './announce.ts';
export { type Calendar, type CalendarSpec, createCalendar } from './calendar.ts';
export { calendarProblem } from './check.ts';
export {
  type CycleReason,
  type CycleRun,
  cancelCycle,
  endCycle,
  pauseCycle,
  resumeCycle,
  runCycleNow,
  skipNextCycle,
} from './control.ts';
export { type CycleProgress, countCycles, cycleDedupKey, cycleProgress } from './count.ts';
export { cyclesWithin } from './due.ts';
export { countPageFailure, failCycle, keepCycle } from './give-up.ts';
export { SCHEDULED_CYCLE_INVARIANTS } from './invariants.ts';
export { type CycleView, listCycles, listSchedules, type ScheduleView } from './look.ts';
export { type OpenedCycles, openCycles } from './open.ts';
export { type Cycle, PAGE_SIZE, type PageOptions, type PageResult, pageSizeOf, readPage, takeCycle } from './page.ts';
export { planSchedules, type ScheduleProblem } from './plan.ts';
export { TRANSITIONS } from './state.ts';
export { type CancelledCycle, markSwept, takeCancelledCycle } from './sweep.ts';
