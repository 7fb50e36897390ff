import { bigintId, lineUserId, type Tenant } from '@dueline/contracts';
import { type Db, type SQL, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { parsePosition, positionAfter, readInOrder, sizeOf } from './page.ts';

/** A row of trigger_log. Instants are RFC 3339, ids text. */
export interface HistoryEntry {
  readonly id: string;
  readonly at: string;
  readonly triggerRuleId: string | null;
  readonly ruleName: string | null;
  readonly ruleVersion: number | null;
  /** Null: the row counts `evaluations` of a flood that the rule did not match; `detail.samples` has some. */
  readonly userId: string | null;
  readonly evaluations: number;
  /** What made us look: the source's name, or `scheduled_action` for what came due. */
  readonly triggerOn: string;
  readonly decision: string;
  readonly reasonCode: string;
  /** The action as it was; null where the rule could not be read, or none was at stake. */
  readonly actionType: string | null;
  readonly actionConfig: unknown;
  readonly errorMessage: string | null;
  readonly detail: unknown;
  readonly eventId: string | null;
  readonly causeId: string | null;
  readonly rootId: string | null;
  readonly scheduledActionId: string | null;
  readonly deliveryId: string | null;
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** Names the next page; null: this is the last. */
  readonly next: string | null;
}

interface PageOptions {
  /** 1 to 500. */
  readonly limit: number;
  /** `next` of the page before; not given: the newest. */
  readonly after?: string | undefined;
}

/**
 * What was decided under a rule of the account, the newest first. Keyset pages: what is written meanwhile neither repeats nor hides a row.
 *
 * @throws PermanentError that says what is wrong with the rule's id, `limit` or `after`.
 */
export const historyOfRule = (
  db: Db,
  tenant: Tenant,
  { triggerRuleId, ...page }: PageOptions & { readonly triggerRuleId: string },
): Promise<HistoryPage> => {
  if (!bigintId.safeParse(triggerRuleId).success) throw new PermanentError(`${triggerRuleId} is not the id of a rule`);
  return readPage(db, tenant, { ...page, whose: sql`log.trigger_rule_id = ${triggerRuleId}::bigint` });
};

/**
 * What was decided about a person of the account, under any rule, the newest first; without what is only counted. Pages as of {@link historyOfRule}.
 *
 * @throws PermanentError that says what is wrong with the person's id, `limit` or `after`.
 */
export const historyOfUser = (
  db: Db,
  tenant: Tenant,
  { userId, ...page }: PageOptions & { readonly userId: string },
): Promise<HistoryPage> => {
  if (!lineUserId.safeParse(userId).success) throw new PermanentError(`${userId} is not a user id of LINE`);
  return readPage(db, tenant, { ...page, whose: sql`log.user_id = ${userId}` });
};

/** The columns of `trigger_log as log left join trigger_rule as rule` that make a {@link HistoryEntry}. */
const ENTRY = sql`
  log.id::text as id, to_json(log.created_date) #>> '{}' as at, log.trigger_rule_id::text as "triggerRuleId", rule.name as "ruleName",
  log.rule_version as "ruleVersion", log.user_id as "userId", log.evaluations, log.trigger_on as "triggerOn", log.decision,
  log.reason_code as "reasonCode", log.action_type as "actionType", log.action_config as "actionConfig", log.error_message as "errorMessage",
  log.detail, log.event_id as "eventId", log.cause_id as "causeId", log.root_id as "rootId", log.scheduled_action_id::text as "scheduledActionId",
  log.delivery_id::text as "deliveryId"`;

/** The instant alone bounds the index; the rows of one instant, which one transaction wrote, are told apart by their ids. */
function readPage(
  db: Db,
  tenant: Tenant,
  { limit, after, whose }: PageOptions & { readonly whose: SQL },
): Promise<HistoryPage> {
  const size = sizeOf(limit);
  const { at, keys } =
    after === undefined ? { at: 'infinity', keys: ['9223372036854775807'] } : parsePosition(after, [/^\d{1,18}$/]);
  return readInOrder(db, tenant, async (tx) => {
    const { rows } = await tx.execute<{ [key in keyof HistoryEntry]: HistoryEntry[key] }>(sql`
      with page as materialized (
        select * from trigger_log as log
         where log.organization_id = ${tenant.organizationId} and log.line_oa_id = ${tenant.lineOaId} and ${whose}
           and log.created_date <= ${at}::timestamptz and (log.created_date, log.id) < (${at}::timestamptz, ${keys[0]}::bigint)
         order by log.created_date desc, log.id desc
         limit ${sql.raw(String(size + 1))}
      )
      select ${ENTRY} from page as log left join trigger_rule as rule on rule.id = log.trigger_rule_id
       order by log.created_date desc, log.id desc`);
    const entries = rows.slice(0, size);
    const last = entries.at(-1);
    const next = rows.length > size && last !== undefined ? positionAfter({ at: last.at, keys: [last.id] }) : null;
    return { entries, next };
  });
}
