import type { AccountName, Signed } from '@dueline/accounts';
import { type CampaignDetail, showCampaign } from '@dueline/campaigns';
import type { Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { UsageError } from '../actions/command-line.ts';
import { ID } from '../id.ts';
import type { Words, Work } from '../person-command.ts';

/** What was typed behind `dueline campaigns <subcommand>`; `ids` are the words that are no options. */
export interface Typed {
  readonly ids: readonly string[];
  readonly values: Readonly<Partial<Record<string, string>>>;
  /** Options that may be given several times. */
  readonly lists: Words<string>['lists'];
  readonly flags: ReadonlySet<string>;
  /** Who does it, when `--by` does not say. */
  readonly login: string;
  /** Writes a line before the work is done, where what it finds is too much for an answer. */
  readonly print: (line: string) => void;
}

/** One subcommand: its line of the help, its options (beside --account and --json), and what it does. */
export interface Subcommand {
  /** What follows the name, e.g. `<id>`. */
  readonly takes: string;
  readonly about: string;
  /** Options that take a text, and what the help says of each: `--name <what>  about`. */
  readonly options?: Readonly<Record<string, readonly [what: string, about: string]>>;
  /** Options that take a text and may be repeated. */
  readonly lists?: Readonly<Record<string, readonly [what: string, about: string]>>;
  /** Options that take nothing. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Reads what was typed, before the database is asked. @throws UsageError */
  readonly workOf: (typed: Typed) => Work;
}

/** Who does it and why, for the audit trail. */
export const SIGNED_OPTIONS = {
  by: ['<name>', 'who does it, for the audit trail; your login if not given'],
  why: ['<reason>', 'why, for the audit trail'],
} as const;

/** Only if it is still what the person saw. */
export const FENCE_OPTION = { fence: ['<n>', 'only if it is still what you saw'] } as const;

/** The one campaign that was named. @throws UsageError */
export function idOf({ ids }: Typed): string {
  const [id, ...others] = ids;
  if (id === undefined) throw new UsageError('it needs the id of a campaign');
  if (others.length > 0) throw new UsageError('one campaign at a time');
  if (!ID.test(id)) throw new UsageError(`${id} is not the id of a campaign`);
  return id;
}

/** Under the fence that the person names, else the one of this moment. @throws UsageError */
export function ticketOf({ values }: Typed, { id, fence: now }: CampaignDetail): Ticket {
  const { fence = now } = values;
  if (!/^\d{1,19}$/.test(fence)) throw new UsageError(`--fence ${fence}: a number, as show tells it`);
  return { id, fence };
}

export const signedOf = ({ values, login }: Typed): Signed => ({ by: values.by ?? login, reason: values.why ?? null });

/** @throws PermanentError when the account has no such campaign. */
export async function campaignOf(db: Db, account: AccountName, id: string): Promise<CampaignDetail> {
  const campaign = await showCampaign(db, account, id);
  if (campaign === undefined) throw new PermanentError(`there is no campaign ${id} in account ${account.lineOaId}`);
  return campaign;
}
