import type { Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
import { groupBy } from '@dueline/kernel';
import { updateFollowing } from '@dueline/recipients';

/** Whether a person follows is what the last event says, not the one that was told last. */
export async function followPeople(tx: Tx, events: readonly OutboxEvent[]): Promise<void> {
  const told = events.filter(({ topic }) => topic === 'friend_track_event_inserted');
  for (const ofAccount of groupBy(told, ({ lineOaId }) => lineOaId).values()) {
    const [first] = ofAccount;
    if (first === undefined) continue;
    await updateFollowing(
      tx,
      { organizationId: first.organizationId, lineOaId: first.lineOaId },
      ofAccount.map(({ userId }) => userId),
    );
  }
}
