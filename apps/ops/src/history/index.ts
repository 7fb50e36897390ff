import { historyOfRule, historyOfUser, timelineOf } from '@dueline/history';
import { UsageError } from '../actions/command-line.ts';
import { type PersonDeps, runForPerson, type Words, type Work } from '../person-command.ts';
import { historyLines, timelineLines } from './render.ts';

const TIMELINE_HELP = `usage: dueline timeline <user id> [--limit <n>] [--after <place>] [--account <id>] [--json]

All that is known of a person: what is to come for them (work that waits, campaigns that are scheduled, the next cycles of time-based rules), and
what was: what they did and what changed about them, what each rule made of it, what was sent and how it stands at LINE, and campaigns that
they were among the recipients of. That a rule did not match them in a flood is not told; ./dueline history rule <rule> counts it.

exit code: 0 done, 2 not understood.`;

const HISTORY_HELP = `usage: dueline history rule <rule> | user <user id>   [--limit <n>] [--after <place>] [--account <id>] [--json]

What was decided under a rule, or about a person under any rule, the newest first: each with its reason and the action as it was. Floods that a rule did
not match are rows that count; --json has samples of them.

exit code: 0 done, 2 not understood.`;

const OPTIONS = ['limit', 'after'] as const;
type PageWords = Words<(typeof OPTIONS)[number]>;
/** As many as fit on a screen or two. */
const DEFAULT_LIMIT = '50';

/** Runs `dueline timeline …` and returns its exit code: 0 done, 1 not done, 2 not understood. */
export const runTimeline = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, { name: 'timeline', help: TIMELINE_HELP, options: OPTIONS, workOf: timelineWork });

/** Runs `dueline history …` and returns its exit code: 0 done, 1 not done, 2 not understood. */
export const runHistory = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, { name: 'history', help: HISTORY_HELP, options: OPTIONS, workOf: historyWork });

function pageOf({ limit = DEFAULT_LIMIT, after }: PageWords['values']): { limit: number; after: string | undefined } {
  if (!/^\d{1,4}$/.test(limit)) throw new UsageError(`--limit ${limit}: a number from 1 to 500`);
  return { limit: Number(limit), after };
}

function timelineWork({ values, positionals: [userId, ...rest] }: PageWords): Work {
  if (userId === undefined || rest.length > 0) throw new UsageError('timeline takes the user id of one person');
  const page = pageOf(values);
  return async (db, account) => {
    const timeline = await timelineOf(db, account, { userId, ...page });
    return { json: timeline, lines: timelineLines(account, timeline), isWhole: true };
  };
}

function historyWork({ values, positionals: [kind, id, ...rest] }: PageWords): Work {
  if ((kind !== 'rule' && kind !== 'user') || id === undefined || rest.length > 0)
    throw new UsageError('history takes rule and its id, or user and their id');
  const page = pageOf(values);
  return async (db, account) => {
    const found = await (kind === 'rule'
      ? historyOfRule(db, account, { triggerRuleId: id, ...page })
      : historyOfUser(db, account, { userId: id, ...page }));
    return { json: found, lines: historyLines(account, found), isWhole: true };
  };
}
