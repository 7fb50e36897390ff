import { type AccountName, listAccounts } from '@dueline/accounts';
import type { Db } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { oneLine, tableOf } from './actions/table.ts';

/** The account that a command names, or the only one there is. @throws PermanentError that lists the accounts, when that is none. */
export async function accountOf(db: Db, id: string | undefined): Promise<AccountName> {
  const accounts = await listAccounts(db);
  const [account, ...others] = accounts.filter(({ lineOaId }) => id === undefined || lineOaId === id);
  if (account !== undefined && others.length === 0) return account;
  const names = tableOf(
    ['id', 'name'],
    accounts.map(({ lineOaId, name }) => [lineOaId, oneLine(name, 60)]),
  );
  const problem = id === undefined ? 'say which account with --account <id>' : `there is no account ${oneLine(id, 30)}`;
  throw new PermanentError(accounts.length === 0 ? 'there is no account yet' : `${problem}:\n  ${names.join('\n  ')}`);
}
