import { explain } from '@dueline/explain';
import { UsageError } from './actions/command-line.ts';
import { secondsOf } from './actions/read-operation.ts';
import { renderExplanation } from './explain-render.ts';
import { PERSON } from './id.ts';
import { type PersonDeps, runForPerson, type Words, type Work } from './person-command.ts';
import { ruleOf } from './rules/rule-of.ts';
import { timeOption } from './time-option.ts';

const EXPLAIN_HELP = `usage: dueline explain <rule> <person> [--event <id> | --at <time> [--within <duration>]]
all:   [--account <id>] [--json]

Why a rule fired for a person, or why it did not: what was decided, each condition with its value, every limit with what it found, and what
became of the message. Nothing is changed.

<rule>    its id or its name
<person>  the user id at LINE, U and 32 hex digits
--event   one event, by its id
--at      a time; now if not given. 2026-11-29T18:00 or 2026-11-29 on the clocks of the account, an instant with an offset, or how long
          ago: 90m, 12h, 7d. Of what happened around it, what is nearest and the rule listens to is explained; of a rule that is set off
          by time its cycle that is nearest, or the next one, which may be ahead: +12h
--within  how far from it; 1d if not given

exit code: 0 explained, 1 not done, 2 not understood.`;

const OPTIONS = ['event', 'at', 'within'] as const;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Runs `dueline explain …` and returns its exit code: 0 explained, 1 not done, 2 not understood. */
export const runExplain = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, { name: 'explain', help: EXPLAIN_HELP, options: OPTIONS, workOf });

function workOf({ values, positionals }: Words<(typeof OPTIONS)[number]>): Work {
  const [rule, userId, ...rest] = positionals;
  if (rule === undefined || userId === undefined || rest.length > 0)
    throw new UsageError('explain needs a rule and a person');
  if (!PERSON.test(userId)) throw new UsageError(`${userId} is no user id: U and 32 hex digits`);
  const { event: eventId, at, within } = values;
  if (eventId !== undefined && !UUID.test(eventId)) throw new UsageError(`--event ${eventId}: an event has a UUID`);
  if (eventId !== undefined && (at ?? within) !== undefined)
    throw new UsageError('either --event, or --at and --within');
  const time = at === undefined ? undefined : timeOption('at', at);
  const withinSeconds = within === undefined ? undefined : secondsOf(within, 'within');
  return async (db, account) => {
    const { id } = await ruleOf(db, account, rule);
    const when = { eventId, at: await time?.(db, account), withinSeconds };
    const explanation = await explain(db, account, { ruleId: id, userId, ...when });
    return { json: explanation, lines: renderExplanation(explanation, account.timezone), isWhole: true };
  };
}
