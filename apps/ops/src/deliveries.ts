import { recordDeed, type Signed } from '@dueline/accounts';
import { closeAttention } from '@dueline/attention';
import type { Tenant } from '@dueline/contracts';
import { inTenant, type Tx } from '@dueline/db';
import { type Resent, resendDeliveries } from '@dueline/deliveries';
import { UsageError } from './actions/command-line.ts';
import { ID } from './id.ts';
import { type Answer, type PersonDeps, runForPerson, type Words, type Work } from './person-command.ts';

const DELIVERIES_HELP = `usage: dueline deliveries resend <id> …       --why <reason> [--accept-duplicates] [--by <name>]
       dueline deliveries assume-sent <id> …  --why <reason> [--by <name>]
both:  [--account <id>] [--json]

resend: a message or a switch of a menu that LINE refused, that was too late, or of which nobody knows whether LINE took it, is sent under a new key. With the last
kind somebody may get it twice: --accept-duplicates says that this is wanted.
assume-sent: a message of which nobody knows whether LINE took it is left alone; its item of \`dueline attention\` is closed.

exit code: 0 done, 1 not or not all of it done, 2 not understood.`;

const OPTIONS = ['by', 'why'] as const;
const ACCEPT_DUPLICATES = 'accept-duplicates';
/** Runs `dueline deliveries …` and returns its exit code: 0 done, 1 not or not all of it done, 2 not understood. */
export const runDeliveries = (deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> =>
  runForPerson(deps, args, {
    name: 'deliveries',
    help: DELIVERIES_HELP,
    options: OPTIONS,
    flags: [ACCEPT_DUPLICATES],
    workOf: (words) => workOf(words, deps.login),
  });

function workOf({ values, flags, positionals }: Words<(typeof OPTIONS)[number]>, login: string): Work {
  const [command, ...ids] = positionals;
  const wrong = ids.find((id) => !ID.test(id));
  if (command !== 'resend' && command !== 'assume-sent')
    throw new UsageError(`there is no command ${command ?? ''}`.trimEnd());
  if (wrong !== undefined) throw new UsageError(`${wrong} is not the id of a delivery`);
  if (ids.length === 0) throw new UsageError(`${command} needs the id of a delivery`);
  if (values.why === undefined) throw new UsageError(`${command} needs --why <reason>`);
  const acceptDuplicates = flags.has(ACCEPT_DUPLICATES);
  if (acceptDuplicates && command === 'assume-sent') throw new UsageError(`--${ACCEPT_DUPLICATES} belongs to resend`);
  const signed = { by: values.by ?? login, reason: values.why };
  return command === 'resend' ? resendWork(ids, { ...signed, acceptDuplicates }) : assumeSentWork(ids, signed);
}

const SAYS: Readonly<Record<Resent['result'], (before: Resent['before']) => string>> = {
  resent: (before) => `was ${before}, is sent again under a new key`,
  in_doubt: () => `LINE may have taken it: say --${ACCEPT_DUPLICATES} to send it all the same`,
  open: (before) => `is ${before}: it goes on by itself`,
  over: (before) => `is ${before}, for good`,
  follows: () => 'was cancelled because of the part before it: send that again, and it goes along',
  of_campaign: () => 'is a part of a campaign, which decides',
  not_there: () => 'the account has no delivery of this id',
};

const resendWork =
  (ids: readonly string[], { acceptDuplicates, ...signed }: Signed & { acceptDuplicates: boolean }): Work =>
  (db, account) =>
    inTenant(db, account, async (tx) => {
      const results = await resendDeliveries(tx, account, { ids, acceptDuplicates });
      for (const { id, before, result } of results) {
        if (result !== 'resent') continue;
        const after = { status: 'planned', acceptDuplicates: before === 'unknown' };
        await recordDeed(tx, account, {
          operation: 'delivery_resend',
          before: { id, status: before },
          after,
          ...signed,
        });
      }
      const resent = results.filter(({ result }) => result === 'resent').map(({ id }) => id);
      await closeItems(tx, account, { ids: resent, ...signed, status: 'resolved' });
      return answer(
        results.map(({ id, before, result }) => ({ id, result, says: SAYS[result](before) })),
        'resent',
      );
    });

const assumeSentWork =
  (ids: readonly string[], signed: Signed): Work =>
  (db, account) =>
    inTenant(db, account, async (tx) => {
      const closed = await closeItems(tx, account, { ids, ...signed, status: 'dismissed' });
      return answer(
        [...new Set(ids)].map((id) =>
          closed.has(id)
            ? { id, result: 'assumed', says: 'counts as sent; nothing is sent again' }
            : { id, result: 'not_there', says: 'no open item of the account speaks of it' },
        ),
        'assumed',
      );
    });

/** Closes what speaks of these deliveries. @returns Of which of them. */
async function closeItems(
  tx: Tx,
  tenant: Tenant,
  { ids, by, reason, status }: Signed & { ids: readonly string[]; status: 'resolved' | 'dismissed' },
): Promise<ReadonlySet<string>> {
  const closed = new Set<string>();
  for (const id of new Set(ids)) {
    const how = { status, closedBy: by, resolution: reason ?? '' };
    const kinds =
      status === 'resolved' ? (['delivery_unknown', 'delivery_refused'] as const) : (['delivery_unknown'] as const);
    for (const kind of kinds) {
      const items = await closeAttention(tx, tenant, { kind, refIds: [id], ...how });
      if (items.length > 0) closed.add(id);
    }
  }
  return closed;
}

function answer(rows: readonly { id: string; result: string; says: string }[], done: string): Answer {
  return {
    json: { deliveries: rows.map(({ id, result }) => ({ id, result })) },
    lines: rows.map(({ id, says }) => `delivery ${id}: ${says}`),
    isWhole: rows.every(({ result }) => result === done),
  };
}
