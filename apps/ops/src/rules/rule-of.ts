import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { listRules, type RuleSummary } from '@dueline/trigger-rules';
import { oneLine } from '../actions/table.ts';

export const noRule = (subject: string) => new PermanentError(`the account has no rule ${oneLine(subject, 60)}`);

/** By id, or by name. @throws PermanentError when that is not one rule of the account. */
export async function ruleOf(db: Db, account: Tenant, subject: string): Promise<RuleSummary> {
  const rules = await listRules(db, account);
  const byId = rules.find(({ id }) => id === subject);
  const [rule, ...others] = byId === undefined ? rules.filter(({ document }) => document.name === subject) : [byId];
  if (rule === undefined) throw noRule(subject);
  if (others.length === 0) return rule;
  const ids = [rule, ...others].map(({ id }) => id).join(', ');
  throw new PermanentError(`several rules are called ${oneLine(subject, 60)}: name one by its id (${ids})`);
}
