import type { Facts } from '@dueline/conditions';
import { SOURCE_TYPES } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
import { groupBy } from '@dueline/kernel';
import { loadClickedCampaigns } from '@dueline/link-tracking';
import { type LineUser, loadMoreOfEvents } from '@dueline/recipients';
import {
  fieldsFor,
  listensTo,
  liveRules,
  type ReadRule,
  requirementsOf,
  sourceKeysOf,
  type TriggerRule,
} from '@dueline/trigger-rules';
import { loadPeopleFacts, type Wanted } from './people-facts.ts';

/** The live rules of each account, by its id, that events of one topic may set off: read in one statement. */
export async function rulesFor(
  tx: Tx,
  events: readonly OutboxEvent[],
): Promise<ReadonlyMap<string, readonly ReadRule[]>> {
  const sourceType = SOURCE_TYPES.find((type) => type === events[0]?.topic);
  if (sourceType === undefined) return new Map();
  const listening = [...groupBy(events, ({ lineOaId }) => lineOaId).values()].flatMap((ofAccount) =>
    ofAccount.slice(0, 1).map(({ organizationId, lineOaId }) => {
      return { organizationId, lineOaId, keys: ofAccount.flatMap(sourceKeysOf) };
    }),
  );
  return groupBy(await liveRules(tx, sourceType, listening), accountOf);
}

const accountOf = (read: ReadRule): string => (read.kind === 'rule' ? read.rule.lineOaId : read.row.line_oa_id);

/** What rules are judged by when they meet an event: exactly what their conditions ask about is read, in one statement of each kind. */
export async function loadEventFacts(
  tx: Tx,
  { events, rules }: { events: readonly OutboxEvent[]; rules: ReadonlyMap<string, readonly ReadRule[]> },
): Promise<(event: OutboxEvent) => (rule: TriggerRule, user: LineUser) => Facts> {
  const meetings = events.flatMap((event) =>
    (rules.get(event.lineOaId) ?? []).flatMap((read) =>
      read.kind === 'rule' && listensTo(read.rule, event) ? [{ event, needs: requirementsOf(read.rule) }] : [],
    ),
  );
  const people = await loadPeopleFacts(
    tx,
    meetings.map(({ event, needs }): Wanted => ({ ...tenantOf(event), userId: event.userId, needs })),
  );
  const asked = meetings.filter(({ needs }) => needs.eventFields.size > 0).map(({ event }) => event);
  const moreOf = await loadMoreOfEvents(tx, asked);
  const clickedOf = await loadClickedCampaigns(tx, asked);
  return (event) => (rule, user) => ({
    ...people({ ...tenantOf(event), ...user }, requirementsOf(rule)),
    event: fieldsFor(rule, event, { ...moreOf(event), ...clickedOf(event) }),
  });
}

const tenantOf = ({ organizationId, lineOaId }: OutboxEvent) => ({ organizationId, lineOaId });
