import type { Facts, Requirements } from '@dueline/conditions';
import type { Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type LineUser, loadMemberships, membershipKey } from '@dueline/recipients';
import { type AccountClock, loadClocks } from '@dueline/trigger-rules';

/** What must be known about one person. */
export interface Wanted extends Tenant {
  readonly userId: string;
  readonly needs: Requirements;
}

/** Of an account that does not exist any more; nothing is decided there. */
const NO_CLOCK: AccountClock = { now: '1970-01-01T00:00:00Z', accountZone: 'UTC' };

/**
 * What conditions are judged by, save for the event, as it stands in this transaction: audiences in one statement for all people, now and the
 * zones of accounts in another, each only if somebody asks.
 */
export async function loadPeopleFacts(
  tx: Tx,
  wanted: readonly Wanted[],
): Promise<(user: Tenant & LineUser, needs: Requirements) => Omit<Facts, 'event'>> {
  const memberships = await loadMemberships(
    tx,
    wanted.flatMap(({ needs, ...person }) => [...needs.audiences].map((audienceId) => ({ ...person, audienceId }))),
  );
  const clocks = await loadClocks(
    tx,
    wanted.flatMap(({ needs, lineOaId }) => (needs.clock ? [lineOaId] : [])),
  );
  return ({ userId, lineOaId, timezone, attributes }, needs) => ({
    attributes,
    audiences: new Map(
      [...needs.audiences].flatMap((audienceId) => {
        const isMember = memberships.get(membershipKey({ lineOaId, audienceId, userId }));
        return isMember === undefined ? [] : [[audienceId, isMember] as const];
      }),
    ),
    clock: { ...(clocks.get(lineOaId) ?? NO_CLOCK), userZone: timezone },
  });
}
