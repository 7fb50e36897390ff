import { parseArgs } from 'node:util';
import { createLineOa, createOrganization, recordDeed } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { UsageError } from './actions/command-line.ts';
import { ID } from './id.ts';

const DEFAULT_ZONE = 'Asia/Tokyo';
export const CREATE_USAGE = `       dueline account create --channel <channel id> --name <name> --organization <id> | --new-organization <name>
                              [--timezone <zone>, else ${DEFAULT_ZONE}]   [--by …] [--reason …] [--json]`;

interface CreateCommand {
  readonly channelId: string;
  readonly name: string;
  readonly timezone: string;
  /** One that there is, or the name of a new one. */
  readonly organization: { readonly id: string } | { readonly name: string };
  readonly by: string;
  readonly reason: string | null;
  readonly json: boolean;
}

const usage = (cause?: unknown) => new UsageError(`usage: ${CREATE_USAGE.trimStart()}`, { cause });

/** @throws UsageError with the usage when the words are not a command. */
export function parseCreateCommand(words: readonly string[], { user }: { user: string }): CreateCommand {
  const { values, positionals } = wordsOf(words);
  const {
    channel,
    name = '',
    timezone = DEFAULT_ZONE,
    organization: id,
    by = user,
    reason = null,
    json = false,
  } = values;
  const newName = values['new-organization'];
  const isOneOrganization = (id === undefined) !== (newName === undefined);
  if (positionals.length !== 1 || channel === undefined || name === '' || newName === '' || !isOneOrganization)
    throw usage();
  if (id !== undefined && !ID.test(id)) throw usage();
  const organization = id === undefined ? { name: newName ?? '' } : { id };
  return { channelId: channel, name, timezone, organization, by, reason, json };
}

function wordsOf(words: readonly string[]) {
  const text = { type: 'string' } as const;
  const whose = { organization: text, 'new-organization': text, by: text, reason: text };
  try {
    const options = { channel: text, name: text, timezone: text, ...whose, json: { type: 'boolean' } } as const;
    return parseArgs({ args: [...words], allowPositionals: true, options });
  } catch (cause) {
    throw usage(cause);
  }
}

/** Creates an account, and its organization where that is new, or neither; and prints its id. It sends nothing until it has credentials. */
export async function runCreate(db: Db, command: CreateCommand, print: (line: string) => void): Promise<void> {
  const { lineOaId, organizationId } = await inTransaction(db, async (tx): Promise<Tenant> => {
    const { channelId, name, timezone, organization, by, reason } = command;
    const ofOrganization =
      'id' in organization
        ? organization.id
        : await createOrganization(tx, { name: organization.name, defaultTimezone: timezone });
    const tenant = await createLineOa(tx, { organizationId: ofOrganization, channelId, name, timezone });
    const after = { channelId, name, timezone };
    await recordDeed(tx, tenant, { operation: 'account_create', before: {}, after, by, reason });
    return tenant;
  });
  const done = { command: 'create', lineOaId, organizationId };
  print(
    command.json
      ? JSON.stringify(done)
      : `account ${lineOaId} of organization ${organizationId}: created; it sends once it has credentials`,
  );
}
