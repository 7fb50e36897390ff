import { NO_AUDIENCES } from '@dueline/conditions';
import { sql, type Tx } from '@dueline/db';
import { loadMemberships, membershipKey } from '@dueline/recipients';
import { requirementsOf } from '@dueline/trigger-rules';
import { loadPeopleThen, type PeopleThen, type PersonThen } from '../people-then.ts';
import type { TimedRule } from './timed-rule.ts';

/** People whom cycles may meet: all that the account knows, or the members of the rule's audience, as it is now; rows `person`. */
const whom = ({ account, rule }: TimedRule) =>
  rule.sourceConfig.audienceId === undefined
    ? sql`line_user as person where person.line_oa_id = ${account.lineOaId} and person.organization_id = ${account.organizationId}`
    : sql`audience_member as person
          join audience on audience.id = person.audience_id and audience.line_oa_id = ${account.lineOaId} and audience.deleted_date is null
         where person.audience_id = ${rule.sourceConfig.audienceId} and person.line_oa_id = ${account.lineOaId}`;

/** How many people a cycle may meet: who does not follow is among them. */
export async function countPeople(tx: Tx, of: TimedRule): Promise<number> {
  const { rows } = await tx.execute<{ people: string }>(sql`select count(*) as people from ${whom(of)}`);
  return Number(rows[0]?.people ?? 0);
}

/** The ids of those people, the last first, in pages. */
export async function* streamPeople(tx: Tx, of: TimedRule, size: number): AsyncGenerator<string[]> {
  for (let before: string | undefined; ; ) {
    const behind = before === undefined ? sql`` : sql`and person.user_id < ${before}`;
    const { rows } = await tx.execute<{ user_id: string }>(sql`
      select person.user_id from ${whom(of)} ${behind} order by person.user_id desc limit ${size}`);
    const userIds = rows.map(({ user_id }) => user_id);
    if (userIds.length > 0) yield userIds;
    if (userIds.length < size) return;
    before = userIds.at(-1);
  }
}

/** People of a page as they were, and the audiences that they are in now. */
export interface PeopleOfPage {
  readonly asOf: PeopleThen;
  audiencesOf(userId: string): ReadonlyMap<string, boolean>;
}

/** Loads a page once, for all instants from one on. */
export async function loadPeople(
  tx: Tx,
  of: TimedRule,
  { userIds, sinceMicros }: { userIds: readonly string[]; sinceMicros: number },
): Promise<PeopleOfPage> {
  const asOf = await loadPeopleThen(tx, of.account, { userIds, sinceMicros, attributes: attributesOf(of) });
  const audiences = [...requirementsOf(of.rule).audiences];
  const { organizationId, lineOaId } = of.account;
  const members = await loadMemberships(
    tx,
    userIds.flatMap((userId) => audiences.map((audienceId) => ({ organizationId, lineOaId, userId, audienceId }))),
  );
  return {
    asOf: remembered(asOf),
    audiencesOf: (userId) =>
      audiences.length === 0
        ? NO_AUDIENCES
        : new Map(
            audiences.flatMap((audienceId) => {
              const isMember = members.get(membershipKey({ lineOaId, audienceId, userId }));
              return isMember === undefined ? [] : [[audienceId, isMember] as const];
            }),
          ),
  };
}

/** Each person at each instant is put together once: they are asked for when a cycle is read, and when its action is due. */
function remembered(asOf: PeopleThen): PeopleThen {
  const known = new Map<string, Map<number, PersonThen | undefined>>();
  return (userId, micros) => {
    const ofUser = known.get(userId) ?? new Map<number, PersonThen | undefined>();
    known.set(userId, ofUser);
    if (ofUser.has(micros)) return ofUser.get(micros);
    const then = asOf(userId, micros);
    ofUser.set(micros, then);
    return then;
  };
}

/** Whether a person is among those whom the rule is for, as its audience is now. */
export async function isMeant(tx: Tx, of: TimedRule, userId: string): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`select from ${whom(of)} and person.user_id = ${userId}`);
  return rowCount === 1;
}

/** Those that the conditions, the dates or the words ask about; null: all, because words name some. */
function attributesOf({ rule, request, delay }: TimedRule): ReadonlySet<string> | null {
  const { actionConfig } = request;
  const words = 'messages' in actionConfig ? actionConfig.messages : 'data' in actionConfig ? actionConfig.data : '';
  if (JSON.stringify(words ?? '').includes('{{')) return null;
  const { onDate } = rule.sourceConfig;
  return new Set([
    ...requirementsOf(rule).attributes,
    ...(onDate === undefined ? [] : [onDate.attribute]),
    ...(delay?.mode === 'relativeToDate' && 'attribute' in delay.to ? [delay.to.attribute] : []),
  ]);
}
