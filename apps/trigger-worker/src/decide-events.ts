import { openAttention } from '@dueline/attention';
import type { TenantTicket } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
import type { CreatedDelivery } from '@dueline/deliveries';
import { getLineUsers, lineUserKey } from '@dueline/recipients';
import { lockToldActions, wakeDue } from '@dueline/scheduled-actions';
import {
  countUnmatched,
  type Evaluated,
  evaluateEvent,
  type LogEntry,
  recordDecisions,
  type TriggerRule,
} from '@dueline/trigger-rules';
import { attentionItems } from './attention-items.ts';
import { carryOut } from './carry-out.ts';
import { chooseFirings } from './choose-firings.ts';
import type { DecideDeps } from './deps.ts';
import { loadEventFacts, rulesFor } from './event-facts.ts';
import { followPeople } from './follow-people.ts';
import { factsOf, meetWaits } from './meet-waits.ts';
import { anchorsOf, moveAnchors } from './move-anchors.ts';
import { notReplayed, withoutRepeats } from './repeats.ts';

/** What one transaction made of events. */
export interface DecidedEvents {
  /** The ids of the events that it took. */
  readonly taken: readonly string[];
  readonly entries: readonly LogEntry[];
  readonly deliveries: readonly CreatedDelivery[];
  /** Events that are still announced, because they must be decided alone. */
  readonly setAside: readonly TenantTicket[];
}

export const NOTHING: DecidedEvents = { taken: [], entries: [], deliveries: [], setAside: [] };

/**
 * Decides events of one topic that the transaction took, of however many accounts, in the order of their ids, in as many statements as one
 * event needs.
 *
 * @param given.awaited Accounts in which something may wait for such events; the locks of their people are held.
 */
export async function decideTaken(
  deps: Pick<DecideDeps, 'meet' | 'reach'>,
  tx: Tx,
  { events, awaited }: { events: readonly OutboxEvent[]; awaited: ReadonlySet<string> },
): Promise<DecidedEvents> {
  if (events.length === 0) return NOTHING;
  for (const { userId } of events) deps.meet?.(userId);
  const fresh = notReplayed(events);
  await followPeople(tx, fresh);
  const met = await meetAll(
    tx,
    fresh.filter(({ lineOaId }) => awaited.has(lineOaId)),
  );
  const { candidates, rejected, flooding } = await evaluateEvents(tx, events);
  const repeated = await withoutRepeats(tx, events, candidates);
  const { kept, ended } = await chooseFirings(tx, repeated.kept);
  const carried = await carryOut(tx, kept);
  const unrecorded: LogEntry[] = [...met, ...rejected, ...repeated.ended, ...ended, ...carried.entries];
  await recordDecisions(tx, [...unrecorded, ...countUnmatched(flooding)]);
  const entries = [...unrecorded, ...flooding, ...carried.recorded];
  await openAttention(tx, attentionItems(entries));
  deps.reach?.('decide_event.deciding');
  return { taken: events.map(({ id }) => id), entries, deliveries: carried.deliveries, setAside: [] };
}

/** Waits that these events end, and dates that they move. */
async function meetAll(tx: Tx, events: readonly OutboxEvent[]): Promise<LogEntry[]> {
  await lockToldActions(tx, { facts: events.flatMap(factsOf), moved: events.flatMap(anchorsOf) });
  const met = [...(await meetWaits(tx, events)), ...(await moveAnchors(tx, events))];
  if (met.some(({ decision }) => decision === 'unlocked' || decision === 'scheduled')) await wakeDue(tx);
  return met;
}

async function evaluateEvents(tx: Tx, events: readonly OutboxEvent[]): Promise<Evaluated> {
  const rules = await rulesFor(tx, events);
  if (rules.size === 0) return { candidates: [], rejected: [], flooding: [] };
  const users = await getLineUsers(tx, events);
  const factsFor = await loadEventFacts(tx, { events, rules });
  const evaluated = events.map((event) => {
    const user = users.get(lineUserKey(event));
    const known = user && { user, factsFor: (rule: TriggerRule) => factsFor(event)(rule, user) };
    return evaluateEvent(event, rules.get(event.lineOaId) ?? [], known);
  });
  return {
    candidates: evaluated.flatMap(({ candidates }) => candidates),
    rejected: evaluated.flatMap(({ rejected }) => rejected),
    flooding: evaluated.flatMap(({ flooding }) => flooding),
  };
}
