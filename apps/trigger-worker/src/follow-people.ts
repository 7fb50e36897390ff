import type { Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
import { updateFollowing } from '@dueline/recipients';

/** Whether a person follows is what the last event says, not the one that was told last. */
export async function followPeople(tx: Tx, tenant: Tenant, events: readonly OutboxEvent[]): Promise<void> {
  const told = events.filter(({ topic }) => topic === 'friend_track_event_inserted');
  if (told.length === 0) return;
  await updateFollowing(
    tx,
    tenant,
    told.map(({ userId }) => userId),
  );
}
