import type { Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
import { anchorRef, type MovedAnchor, type Recomputed, recomputeAnchored } from '@dueline/scheduled-actions';
import { entryOf, type LogEntry } from '@dueline/trigger-rules';

/** The dates that an event moved, as far as anything may hang on them. Pure. */
export function anchorsOf(event: OutboxEvent): MovedAnchor[] {
  const { organizationId, lineOaId, userId } = event;
  const base = { organizationId, lineOaId, userId };
  if (event.topic === 'attribute_changed')
    return [...event.changed.keys()].map((attribute) => ({ ...base, anchor: { attribute } }));
  const moves = event.topic === 'booking_event' && event.type !== 'created';
  return moves ? [{ ...base, anchor: { bookingId: event.bookingId } }] : [];
}

const keyOf = ({ lineOaId, userId }: { lineOaId: string; userId: string }, ref: string): string =>
  `${lineOaId}:${userId}:${ref}`;

/**
 * Moves what hangs on the dates that these events moved, and gives the history of each row that did. The caller holds the locks
 * of the events' users.
 */
export async function moveAnchors(tx: Tx, events: readonly OutboxEvent[]): Promise<LogEntry[]> {
  const moved = events.flatMap((event) => anchorsOf(event).map((anchor) => ({ event, anchor })));
  const movedBy = new Map(moved.map(({ event, anchor }) => [keyOf(anchor, anchorRef(anchor.anchor)), event]));
  const recomputed = await recomputeAnchored(
    tx,
    moved.map(({ anchor }) => anchor),
  );
  return recomputed.flatMap((row) => {
    const event = movedBy.get(keyOf(row, row.anchorRef));
    return event === undefined ? [] : [historyOf(event, row)];
  });
}

const DECISION = { moved: 'scheduled', due: 'scheduled', cancelled: 'cancelled', failed: 'failed' } as const;

function historyOf(event: OutboxEvent, row: Recomputed): LogEntry {
  return {
    ...entryOf(event),
    triggerRuleId: row.triggerRuleId,
    ruleVersion: row.ruleVersion,
    action: null,
    decision: DECISION[row.result],
    reasonCode: row.reason,
    scheduledActionId: row.scheduledActionId,
  };
}
