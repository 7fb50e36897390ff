import { recordDeed, type Signed } from '@dueline/accounts';
import { closeAttention } from '@dueline/attention';
import { EVENT_TOPICS, type EventTopic } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { type ReplayRange, replayable, replayEvents, retryEvents } from '@dueline/db/changes';
import { UsageError } from './actions/command-line.ts';
import { oneLine } from './actions/table.ts';
import { ID } from './id.ts';
import { type PersonDeps, runForPerson, type Words, type Work } from './person-command.ts';

const EVENTS_HELP = `usage: dueline events replay --from <time> --to <time> [--topic <topic>] [--yes]
       dueline events retry <id> …
all:   [--account <id>] [--json] [--by <name>] [--why <reason>]

Decided events of an account are decided once more, by the rules and people as they are now, behind what happens now: of what happened from
--from on and before --to (2026-03-01T10:00:00+09:00). What an event set off before it does not set off again; waits, dates and who follows stay
as they are. Without --yes it only counts them. Go back no further than the history is kept, or what it forgot is done again.
retry: an event that was given up (\`event\` in \`dueline attention list\`) is decided after all, with all its tries; its item is closed.

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
  const signed = { by, reason: values.why ?? null };
  if (command === 'retry') {
    if (flags.has('yes') || (values.from ?? values.to ?? values.topic) !== undefined)
      throw new UsageError('--from, --to, --topic and --yes belong to replay');
    return retryWork(rest, signed);
  }
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
      await recordDeed(tx, account, { operation: 'events_replay', ...states, ...signed });
      return { json: { count, replayed: true }, lines: [`${count} events are decided once more`], isWhole: true };
    });
  };
}

/** @throws UsageError */
function retryWork(ids: readonly string[], signed: Signed): Work {
  const wrong = ids.find((id) => !ID.test(id));
  if (wrong !== undefined) throw new UsageError(`${oneLine(wrong, 40)} is not the id of an event`);
  if (ids.length === 0) throw new UsageError('retry needs the id of an event');
  return (db, account) =>
    inTransaction(db, async (tx) => {
      const retried = await retryEvents(tx, account, { ids });
      const left = [...new Set(ids)].filter((id) => !retried.includes(id));
      if (retried.length > 0) {
        await recordDeed(tx, account, { operation: 'events_retry', before: {}, after: { ids: retried }, ...signed });
        const closing = { closedBy: signed.by, resolution: signed.reason ?? 'it is decided after all' };
        await closeAttention(tx, account, { kind: 'event_dead', refIds: retried, status: 'resolved', ...closing });
      }
      const lines = [
        ...retried.map((id) => `event ${id}: is decided after all`),
        ...left.map((id) => `event ${id}: account ${account.lineOaId} has given up no event of this id`),
      ];
      return { json: { retried, left }, lines, isWhole: left.length === 0 };
    });
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
