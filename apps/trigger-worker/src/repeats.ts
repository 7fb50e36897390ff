import { column, sql, type Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
import type { chooseFirings } from './choose-firings.ts';
import { historyOf, type Sorted } from './prepare.ts';

type Candidate = Parameters<typeof chooseFirings>[1][number];

/** What was not decided before. A replayed event ends no wait, moves no date and says nothing of who follows: that is settled. */
export const notReplayed = (events: readonly OutboxEvent[]): OutboxEvent[] =>
  events.filter(({ replayed }) => !replayed);

/**
 * Ends the candidates that an earlier decision of the same event set off already: history says so, for actions of every kind, and before a
 * limit is spent. What a rule only observed it may do now that it is live.
 */
export async function withoutRepeats(
  tx: Tx,
  events: readonly OutboxEvent[],
  candidates: readonly Candidate[],
): Promise<Sorted<Candidate>> {
  const replayed = new Set(events.filter((event) => event.replayed).map(({ eventId }) => eventId));
  const again = candidates.filter(({ event }) => replayed.has(event.eventId));
  if (again.length === 0) return { kept: candidates, ended: [] };
  const accounts = column([...new Set(again.map(({ rule }) => rule.lineOaId))], 'bigint');
  const { rows } = await tx.execute<{ event_id: string; trigger_rule_id: string; decision: string }>(sql`
    select event_id, trigger_rule_id, decision from trigger_log
     where line_oa_id = any(${accounts}) and user_id = any(${column([...new Set(again.map(({ userId }) => userId))], 'text')})
       and event_id = any(${column([...replayed], 'uuid')}) and decision in ('fired', 'scheduled', 'observed')`);
  const before = new Set(rows.map((row) => `${row.event_id}:${row.trigger_rule_id}:${row.decision}`));
  const isRepeat = ({ event, rule }: Candidate) =>
    (rule.mode === 'observe' ? ['observed', 'fired', 'scheduled'] : ['fired', 'scheduled']).some((decision) =>
      before.has(`${event.eventId}:${rule.id}:${decision}`),
    );
  const repeats = new Set(again.filter(isRepeat));
  return {
    kept: candidates.filter((candidate) => !repeats.has(candidate)),
    ended: [...repeats].map((repeat) => historyOf(repeat, { decision: 'suppressed', reasonCode: 'already_done' })),
  };
}
