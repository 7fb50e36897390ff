import { setRuleMode } from '@dueline/trigger-rules';
import { usersOf } from './plan.ts';
import { type CauseTimes, productNow } from './play.ts';
import type { Cast } from './seed.ts';
import { CLOCK, TOLD, TURN } from './sources-story.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS, type Account, type Cause } from './story.ts';
import { untilCount } from './until-count.ts';

const STOPPED = `select from trigger_log where decision = 'suppressed' and reason_code = 'rule_loops'`;

export interface SourcesScene {
  readonly stack: Pick<Stack, 'database'>;
  readonly cast: Cast;
  readonly tell: (cause: Cause) => void;
}

/** Something of each source happens, as any service would write it, and a loop that the guard must stop. */
export async function playSources({ stack: { database }, cast, tell }: SourcesScene): Promise<CauseTimes> {
  const times = new Map<Cause, Map<string, number>>();
  for (const told of [...TOLD, TURN]) {
    tell(told);
    const when = new Map<string, number>();
    for (const account of ACCOUNTS) {
      const { tenant, props } = ofAccount(cast, account);
      when.set(account.channelId, await productNow(database.db));
      const named = told.prop === undefined ? null : props[told.prop];
      const people = usersOf(account, told.users);
      await database.db.$client.query(told.sql, [tenant.organizationId, tenant.lineOaId, people, named]);
    }
    times.set(told, when);
  }
  await untilCount(database.db, STOPPED, ACCOUNTS.length);
  return times;
}

/** Publishes the rules that time sets off; resolves when their next cycles are planned. */
export async function startClock({ stack: { database }, cast, tell }: SourcesScene): Promise<CauseTimes> {
  tell(CLOCK);
  const when = new Map<string, number>();
  for (const account of ACCOUNTS) {
    const { tenant, clockRule } = ofAccount(cast, account);
    when.set(account.channelId, await productNow(database.db));
    await setRuleMode(database.db, tenant, { ruleId: clockRule, mode: 'live' });
  }
  await untilCount(database.db, 'select from cycle_schedule where next_run_at is not null', ACCOUNTS.length);
  return new Map([[CLOCK, when]]);
}

function ofAccount({ tenants, sources }: Cast, { channelId, name }: Account) {
  const [tenant, source] = [tenants.get(channelId), sources.get(channelId)];
  if (tenant === undefined || source === undefined) throw new Error(`${name} was not seeded`);
  return { tenant, ...source };
}

/** Chains of rules that the guard stopped. */
export async function readLoops({ database }: Pick<Stack, 'database'>): Promise<number> {
  return (await database.db.$client.query(STOPPED)).rowCount ?? 0;
}
