import type { Facts } from '@dueline/conditions';
import { SOURCE_TYPES, type Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
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

/** The live rules that events of one topic and account may set off. */
export async function rulesFor(tx: Tx, tenant: Tenant, events: readonly OutboxEvent[]): Promise<ReadRule[]> {
  const sourceType = SOURCE_TYPES.find((type) => type === events[0]?.topic);
  if (sourceType === undefined) return [];
  return liveRules(tx, tenant, { sourceType, keys: events.flatMap(sourceKeysOf) });
}

/** What rules are judged by when they meet an event: exactly what their conditions ask about is read, in one statement of each kind. */
export async function loadEventFacts(
  tx: Tx,
  { tenant, events, rules }: { tenant: Tenant; events: readonly OutboxEvent[]; rules: readonly ReadRule[] },
): Promise<(event: OutboxEvent) => (rule: TriggerRule, user: LineUser) => Facts> {
  const read = rules.flatMap((one) => (one.kind === 'rule' ? [one.rule] : []));
  const meetings = events.flatMap((event) =>
    read.flatMap((rule) => (listensTo(rule, event) ? [{ event, needs: requirementsOf(rule) }] : [])),
  );
  const people = await loadPeopleFacts(
    tx,
    meetings.map(({ event, needs }): Wanted => ({ ...tenant, userId: event.userId, needs })),
  );
  const asked = meetings.filter(({ needs }) => needs.eventFields.size > 0).map(({ event }) => event);
  const moreOf = await loadMoreOfEvents(tx, asked);
  const clickedOf = await loadClickedCampaigns(tx, asked);
  return (event) => (rule, user) => ({
    ...people({ ...tenant, ...user }, requirementsOf(rule)),
    event: fieldsFor(rule, event, { ...moreOf(event), ...clickedOf(event) }),
  });
}
