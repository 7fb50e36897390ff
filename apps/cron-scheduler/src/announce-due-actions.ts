import { scheduledActionFire, scheduledActionFireNow } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { Broker } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { type Claim, type ClaimedTicket, claimBatch, releaseActions } from '@dueline/scheduled-actions';
import { publishTickets } from '@dueline/worker-app';

export interface AnnounceDueDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish' | 'state'>;
  readonly claim: Claim;
  readonly onClaimed: (count: number) => void;
  readonly reach?: Reach | undefined;
}

/**
 * Claims what is due and publishes its tickets on scheduled_action_fire, those of lane 0 on scheduled_action_fire.now. Claims nothing while the broker is away. A ticket
 * that was not confirmed gives its row back at once, under a new fence, so a copy that arrived all the same is refused.
 *
 * @returns True when a claim found something and all of it was published: there may be more.
 */
export const announceDueActions = (deps: AnnounceDueDeps) => async (): Promise<boolean> => {
  if (deps.broker.state() !== 'ready') return false;
  const tickets = await claimBatch(deps.db, deps.claim);
  deps.onClaimed(tickets.length);
  if (tickets.length > 0) deps.reach?.('announce_action.claimed');
  const failed = await publishByLane(deps.broker, tickets);
  if (tickets.length > 0) deps.reach?.('announce_action.published');
  await releaseActions(deps.db, failed);
  return tickets.length > 0 && failed.length === 0;
};

async function publishByLane(
  broker: Pick<Broker, 'publish'>,
  tickets: readonly ClaimedTicket[],
): Promise<ClaimedTicket[]> {
  const { now = [], later = [] } = Object.groupBy(tickets, ({ lane }) => (lane === 0 ? 'now' : 'later'));
  const failed = await Promise.all([
    publishTickets(broker, scheduledActionFireNow, now),
    publishTickets(broker, scheduledActionFire, later),
  ]);
  return failed.flat();
}
