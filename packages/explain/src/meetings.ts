import type { Facts } from '@dueline/conditions';
import type { Tx } from '@dueline/db';
import type { ArchivedEvent } from '@dueline/db/changes';
import { loadClickedCampaigns } from '@dueline/link-tracking';
import { loadMemberships, loadMoreOfEvents, membershipKey } from '@dueline/recipients';
import { fieldsFor, type Known, requirementsOf, type TriggerRule } from '@dueline/trigger-rules';
import { loadPeopleThen, type PersonThen } from './people-then.ts';
import type { Account } from './rule-then.ts';

/** What a rule is judged by when it meets an event of the past. */
export interface Meeting {
  /** Undefined: nobody knew the person then. */
  readonly known: (Known & { readonly user: PersonThen['user'] }) | undefined;
  /** Whether a value that the rule asks about was too long for the history, and is taken for JSON null. */
  readonly isUncertain: boolean;
}

/**
 * Puts people back to where they stood when each of these events was decided, as far as history tells, for rules to meet them. Attributes, who
 * follows and the clock are those of then; audiences, bookings, names, languages and zones leave no history, and are those of now.
 */
export async function loadMeetings(
  tx: Tx,
  account: Account,
  { events, rules }: { events: readonly ArchivedEvent[]; rules: readonly TriggerRule[] },
): Promise<(archived: ArchivedEvent, rule: TriggerRule) => Meeting> {
  if (events.length === 0) return () => ({ known: undefined, isUncertain: false });
  const userIds = [...new Set(events.map(({ event }) => event.userId))];
  const sinceMicros = Math.min(...events.map(({ decidedMicros }) => decidedMicros));
  const people = await loadPeopleThen(tx, account, { userIds, sinceMicros, attributes: attributesOf(rules) });
  const audiences = new Set(rules.flatMap((rule) => [...requirementsOf(rule).audiences]));
  const members = await loadMemberships(
    tx,
    userIds.flatMap((userId) => [...audiences].map((audienceId) => ({ ...tenantOf(account), userId, audienceId }))),
  );
  const asked = rules.some((rule) => requirementsOf(rule).eventFields.size > 0) ? events.map(({ event }) => event) : [];
  const moreOf = await loadMoreOfEvents(tx, asked);
  const clickedOf = await loadClickedCampaigns(tx, asked);
  return (archived, rule) => {
    const { event, decidedMicros } = archived;
    const then = people(event.userId, decidedMicros);
    if (then === undefined) return { known: undefined, isUncertain: false };
    const needs = requirementsOf(rule);
    const facts: Facts = {
      attributes: then.user.attributes,
      event: fieldsFor(rule, event, { ...moreOf(event), ...clickedOf(event) }),
      audiences: new Map(
        [...needs.audiences].flatMap((audienceId) => {
          const isMember = members.get(membershipKey({ lineOaId: event.lineOaId, audienceId, userId: event.userId }));
          return isMember === undefined ? [] : [[audienceId, isMember] as const];
        }),
      ),
      clock: { now: archived.decidedAt, accountZone: account.timezone, userZone: then.user.timezone },
    };
    const isUncertain = [...needs.attributes].some((name) => then.unknown.has(name));
    return { known: { user: then.user, factsFor: () => facts }, isUncertain };
  };
}

const tenantOf = ({ organizationId, lineOaId }: Account) => ({ organizationId, lineOaId });

/** Those that conditions or words ask about; null: all, because words name some. */
function attributesOf(rules: readonly TriggerRule[]): ReadonlySet<string> | null {
  const hasWords = rules.some(
    ({ actionConfig }) => 'messages' in actionConfig && JSON.stringify(actionConfig.messages).includes('{{'),
  );
  return hasWords ? null : new Set(rules.flatMap((rule) => [...requirementsOf(rule).attributes]));
}
