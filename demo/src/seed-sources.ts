import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { createTrackedLink } from '@dueline/link-tracking';
import { addAudienceMembers, createAudience, createForm } from '@dueline/recipients';
import { createRule } from '@dueline/trigger-rules';
import { usersOf } from './plan.ts';
import { clockRule, type Props, REGULARS, sourceRules } from './sources-story.ts';
import type { Account } from './story.ts';

/** What the scene of the sources refers to, of one account. */
export interface SourceCast {
  readonly props: Props;
  /** A draft. */
  readonly clockRule: string;
}

/** A form, a link, an audience, and the rules that name them. */
export async function seedSources(db: Db, tenant: Tenant, account: Account): Promise<SourceCast> {
  const regulars = await createAudience(db, tenant, { name: 'regulars' });
  await addAudienceMembers(db, tenant, { audienceId: regulars, userIds: usersOf(account, REGULARS) });
  const props = {
    regulars,
    form: await createForm(db, tenant, { name: 'how was it?' }),
    link: await createTrackedLink(db, tenant, { name: 'the shop', url: 'https://example.com/shop' }),
  };
  for (const rule of sourceRules(props)) await createRule(db, tenant, rule);
  return { props, clockRule: await createRule(db, tenant, clockRule(props)) };
}
