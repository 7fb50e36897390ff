import { calendarProblem } from '@dueline/scheduled-cycles';
import type { CheckSource } from '@dueline/trigger-rules';

/** What is wrong with when a rule has its cycles: told when it is written, not only when they are planned. */
export const checkSource: CheckSource = ({ sourceType, sourceConfig }) =>
  sourceType === 'scheduled_time' ? calendarProblem(sourceConfig) : undefined;
