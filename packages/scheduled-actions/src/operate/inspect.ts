import { bigintId, type Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { type ActionFilter, actionFilter, whereOf } from './filter.ts';
import { parseOrRefuse } from './operation.ts';
import { type ActionView, viewColumns } from './view.ts';

/** Most actions on one page. */
export const MAX_PAGE = 500;

export interface ActionPage {
  readonly actions: readonly ActionView[];
  /** Names the next page; null: this is the last. */
  readonly next: string | null;
}

/**
 * Actions of an account, the earliest due first. Pages are keyset pages: what is inserted or moved meanwhile neither repeats nor
 * hides a row that stays where it is.
 *
 * @throws PermanentError when the filter or the page is wrong: what, where.
 */
export async function listActions(
  db: Db,
  tenant: Tenant,
  { filter, limit, after }: { filter: ActionFilter; limit: number; after?: string | undefined },
): Promise<ActionPage> {
  const valid = parseOrRefuse('filter', actionFilter, filter);
  const position = after === undefined ? undefined : parsePosition(after);
  const size = Math.min(Math.max(limit, 1), MAX_PAGE);
  return inTenant(db, tenant, async (tx) => {
    const where = await whereOf(tx, tenant, { filter: valid, statuses: valid.statuses });
    const beyond =
      position && sql`and (action.execute_at, action.id) > (${position.at}::timestamptz, ${position.id}::bigint)`;
    const { rows } = await tx.execute<ActionView & Record<string, unknown>>(sql`
      select ${viewColumns}
        from (
          select action.id as page_id from scheduled_action as action
           where ${where} ${beyond ?? sql``}
           order by action.execute_at, action.id
           limit ${size + 1}) as page
        join lateral (select * from scheduled_action where scheduled_action.id = page_id offset 0) as action on true
       order by action.execute_at, action.id`);
    const actions = rows.slice(0, size);
    const last = actions.at(-1);
    const next = rows.length > size && last !== undefined ? `${last.executeAt}/${last.id}` : null;
    return { actions, next };
  });
}

function parsePosition(after: string): { at: string; id: string } {
  const [at = '', id = ''] = after.split('/');
  if (Number.isNaN(Date.parse(at)) || !bigintId.safeParse(id).success) {
    throw new PermanentError('no list gave such a page; take `next` of the page before');
  }
  return { at, id };
}

interface ActionTrail {
  readonly waits: readonly { source: string; refId: string | null; branch: string }[];
  readonly edits: readonly {
    at: string;
    operation: string;
    by: string;
    why: string | null;
    before: Readonly<Record<string, unknown>>;
    after: Readonly<Record<string, unknown>>;
  }[];
  readonly deliveries: readonly {
    id: string;
    epoch: number;
    status: string;
    attempts: number;
    reasonCode: string | null;
    nextAttemptAt: string | null;
    acceptedAt: string | null;
    lineRequestId: string | null;
  }[];
}

/** One action with what it waits for, what people did to it, and what became of its messages. */
export type ActionDetail = ActionView & ActionTrail;

const waits = sql`
  (select coalesce(jsonb_agg(jsonb_build_object('source', source, 'refId', ref_id, 'branch', wait.branch) order by n), '[]')
     from action_wait as wait where wait.scheduled_action_id = action.id) as waits`;
const edits = sql`
  (select coalesce(jsonb_agg(jsonb_build_object('at', edit.created_at, 'operation', operation, 'by', edited_by, 'why', reason,
                                                'before', before, 'after', after) order by edit.id), '[]')
     from scheduled_action_edit as edit where edit.scheduled_action_id = action.id) as edits`;
const deliveries = sql`
  (select coalesce(jsonb_agg(jsonb_build_object(
            'id', delivery.id::text, 'epoch', epoch, 'status', delivery.status,
            'attempts', (select count(*) from delivery_attempt where delivery_id = delivery.id), 'reasonCode', reason_code,
            'nextAttemptAt', case when delivery.status = 'planned' then nullif(next_attempt_at, 'infinity') end, 'acceptedAt', accepted_at,
            'lineRequestId', coalesce(line_accepted_request_id, line_request_id)) order by epoch, delivery.id), '[]')
     from delivery where delivery.kind = 'action' and delivery.logical_id = action.id::text) as deliveries`;

/** One action of the account, whole; undefined: there is none of this id. */
export async function showAction(db: Db, tenant: Tenant, id: string): Promise<ActionDetail | undefined> {
  const valid = parseOrRefuse('id', bigintId, id);
  return inTenant(db, tenant, async (tx) => {
    const { rows } = await tx.execute<ActionDetail & Record<string, unknown>>(sql`
      select ${viewColumns}, ${waits}, ${edits}, ${deliveries}
        from scheduled_action as action
       where action.organization_id = ${tenant.organizationId} and action.line_oa_id = ${tenant.lineOaId} and action.id = ${valid}`);
    return rows[0];
  });
}
