import type { Db } from '@dueline/db';
import { usersOf } from './plan.ts';
import { type CauseTimes, perform, productNow } from './play.ts';
import type { Cast } from './seed.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS, type Cause, type Users } from './story.ts';
import { untilCount } from './until-count.ts';
import { CLICK, INVITE, INVITED, LATE_CLICK, LATECOMERS, PAST_DEADLINE, TO_CLICKS } from './waiting-story.ts';

const WAITING = "select from scheduled_action where expires_at is not null and status = 'pending' and branch is null";
const LATE = "select from trigger_log where reason_code = 'fact_late'";

export interface WaitingScene {
  readonly stack: Pick<Stack, 'database' | 'travel'>;
  readonly cast: Cast;
  readonly tell: (cause: Cause) => void;
  readonly tellTime: (now: string) => void;
}

/** Plays the three days: an invitation, the clicks of some a day later, the deadline, and clicks that come too late. */
export async function playWaiting({ stack, cast, tell, tellTime }: WaitingScene): Promise<CauseTimes> {
  const { db } = stack.database;
  const all = ACCOUNTS.length;
  tell(INVITE);
  const invited = await perform(stack.database, cast, INVITE);
  await untilCount(db, WAITING, all * INVITED.count);
  tellTime((await stack.travel(TO_CLICKS)).now);

  tell(CLICK);
  const clicked = await click(db, cast, CLICK.users);
  await untilCount(db, WAITING, all * LATECOMERS.count);
  tellTime((await stack.travel(PAST_DEADLINE)).now);
  await untilCount(db, WAITING, 0);

  tell(LATE_CLICK);
  await click(db, cast, LATE_CLICK.users);
  await untilCount(db, LATE, all * LATECOMERS.count);
  return new Map<Cause, ReadonlyMap<string, number>>([
    [INVITE, invited],
    [CLICK, clicked],
  ]);
}

/** Plain SQL, as any service that sees clicks would write it. */
async function click(db: Db, cast: Cast, users: Users): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const account of ACCOUNTS) {
    const tenant = cast.tenants.get(account.channelId);
    if (tenant === undefined) throw new Error(`${account.name} was not seeded`);
    times.set(account.channelId, await productNow(db));
    await db.$client.query(
      `insert into link_click (organization_id, line_oa_id, tracked_link_id, user_id, idempotency_key)
       select $1, $2, $3, user_id, gen_random_uuid() from unnest($4::text[]) as user_id`,
      [tenant.organizationId, tenant.lineOaId, cast.links.get(account.channelId), usersOf(account, users)],
    );
  }
  return times;
}
