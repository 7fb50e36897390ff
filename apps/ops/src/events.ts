import { recordDeed } from '@dueline/accounts';
import { EVENT_TOPICS, type EventTopic } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { type ReplayRange, replayable, replayEvents } from '@dueline/db/changes';
import { UsageError } from './actions/command-line.ts';
import { type PersonDeps, runForPerson, type Words, type Work } from './person-command.ts';

const EVENTS_HELP = `usage: dueline events replay --from <time> --to <time> [--topic <topic>] [--yes]
all:   [--account <id>] [--json] [--by <name>] [--why <reason>]

Decided events of an account are decided once more, by the rules and people as they are now, behind what happens now: of what happened from
--from on and before --to (2026-03-01T10:00:00+09:00). What an event set off before it does not set off again; waits, dates and who follows stay
as they are. Without --yes it only counts them. Go back no further than the history is kept, or what it forgot is done again.

topics: ${EVENT_TOPICS.filter((topic) => topic !== 'delivery_settled').join(', ')}

exit code: 0 done, 1 not done, 2 not understood.`;

const OPTIONS = ['from', 'to', 'topic', 'by', 'why'] as const;
type EventWords = Words<(typeof OPTIONS)[number]>;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)$/;

/** Runs `dueline events …` and returns its exit code: 0 done, 1 not done, 2 not understood. */
export const runEvents = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, {
    ...{ name: 'events', help: EVENTS_HELP, options: OPTIONS, flags: ['yes'] },
    workOf: (words) => workOf(words, words.values.by ?? deps.login),
  });

function workOf({ values, flags, positionals }: EventWords, by: string): Work {
  const [command = '', ...rest] = positionals;
  if (command !== 'replay' || rest.length > 0) throw new UsageError(`there is no command ${positionals.join(' ')}`);
  const range: ReplayRange = {
    from: instant('--from', values.from),
    to: instant('--to', values.to),
    topic: topicOf(values.topic),
  };
  return async (db, account) => {
    if (!flags.has('yes')) {
      const count = await replayable(db, account, range);
      return { json: { count, replayed: false }, lines: [`${count} events; --yes puts them back`], isWhole: true };
    }
    return inTransaction(db, async (tx) => {
      const count = await replayEvents(tx, account, range);
      const states = { before: {}, after: { ...range, count } };
      await recordDeed(tx, account, { operation: 'events_replay', ...states, by, reason: values.why ?? null });
      return { json: { count, replayed: true }, lines: [`${count} events are decided once more`], isWhole: true };
    });
  };
}

function instant(name: string, text: string | undefined): string {
  if (text === undefined) throw new UsageError(`${name} is needed: a time with its offset`);
  if (!INSTANT.test(text) || Number.isNaN(Date.parse(text)))
    throw new UsageError(`${name} ${text}: a time with its offset, e.g. 2026-03-01T10:00:00+09:00`);
  return text;
}

function topicOf(text: string | undefined): EventTopic | undefined {
  const topic = EVENT_TOPICS.find((known) => known === text);
  if (text !== undefined && (topic === undefined || topic === 'delivery_settled'))
    throw new UsageError(`--topic ${text}: there is no such topic to replay`);
  return topic;
}
