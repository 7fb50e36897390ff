import { DEFAULT_BRANCH, type Delay } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { anchorRefOf } from './anchor.ts';
import type { ActionToSchedule, Scheduled } from './schedule.ts';
import { timing } from './timing.ts';

type MadeRow = {
  n: string;
  id: string | null;
  status: 'pending' | 'cancelled' | 'failed' | null;
  is_past: boolean | null;
};

/** By position; an action that has a row already, or another one open, is left out. One statement, waits included. */
export async function insertActions(
  tx: Tx,
  actions: readonly ActionToSchedule[],
): Promise<ReadonlyMap<number, Scheduled>> {
  const { rows } = await tx.execute<MadeRow>(sql`
    with dated as materialized (
      select action.*, timing.due, action.delay_spec ->> 'mode' = 'waitForTracking' as waits,
             row_number() over (partition by action.line_oa_id, action.dedup_key order by action.n) = 1 as is_first,
             case when timing.due >= app_now() or action.delay_spec ->> 'whenPast' is null then 'pending'
                  else case action.delay_spec ->> 'whenPast' when 'fire' then 'pending' when 'skip' then 'cancelled' else 'failed' end
             end as status
        from ${actionRows(actions)} ${timing}
    ), made as (
      ${insertDated} returning id, line_oa_id, dedup_key, status
    ), waits as (
      insert into action_wait (scheduled_action_id, n, organization_id, line_oa_id, user_id, source, ref_id, branch)
      select made.id, wait.n, organization_id, dated.line_oa_id, user_id, wait.what ->> 'source', wait.what ->> 'refId', wait.what ->> 'branch'
        from made join dated using (line_oa_id, dedup_key)
       cross join lateral jsonb_array_elements(dated.delay_spec -> 'waits') with ordinality as wait (what, n)
       where dated.is_first and dated.waits
    )
    select dated.n, made.id, made.status, dated.due < app_now() as is_past
      from dated left join made on dated.is_first and made.line_oa_id = dated.line_oa_id and made.dedup_key = dated.dedup_key
     where made.id is not null or dated.due is null`);
  return new Map(rows.map((row) => [Number(row.n) - 1, parseMade(row)]));
}

const insertDated = sql`
  insert into scheduled_action (
    organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config, source_config,
    delay_spec, anchor_ref, execute_at, due_at, expires_at, anchor_at, lane, max_lateness_seconds, status, executed_at, cancel_reason,
    last_error, dedup_key, open_key, traceparent)
  select organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config, source_config,
         delay_spec, anchor_ref, greatest(due, app_now()), due, case when waits then due end, case when waits then app_now() end,
         case when lane is not null then lane when waits or due > app_now() then 1 else 0 end,
         (delay_spec -> 'maxLatenessSeconds')::int, status, case when status <> 'pending' then app_now() end,
         case when status = 'cancelled' then 'date_past' end, case when status = 'failed' then 'date_past' end,
         dedup_key, open_key, traceparent
    from dated where is_first and due is not null
   order by line_oa_id, dedup_key
      on conflict do nothing`;

const parseMade = ({ id, status, is_past }: MadeRow): Scheduled => {
  if (id === null) return { result: 'no_date' };
  if (status === 'pending') return { result: 'made', id, isPast: is_past ?? false };
  return { result: status === 'failed' ? 'failed' : 'skipped', id };
};

const BULK_LANE = 2;

function actionRows(actions: readonly ActionToSchedule[]) {
  const col = (
    read: (action: ActionToSchedule) => string | number | null,
    type: 'bigint' | 'integer' | 'text' | 'uuid' | 'jsonb',
  ) => column(actions.map(read), type);
  return sql`unnest(
    ${col((action) => action.organizationId, 'bigint')}, ${col((action) => action.lineOaId, 'bigint')},
    ${col((action) => action.triggerRuleId, 'bigint')}, ${col((action) => action.ruleVersion, 'integer')},
    ${col((action) => action.eventId, 'uuid')}, ${col((action) => action.rootId, 'uuid')},
    ${col((action) => action.userId, 'text')}, ${col((action) => action.request.actionType, 'text')},
    ${col((action) => JSON.stringify(action.request.actionConfig), 'jsonb')},
    ${col((action) => (action.sourceConfig === null ? null : JSON.stringify(action.sourceConfig)), 'jsonb')},
    ${col((action) => JSON.stringify(explicit(action.delay)), 'jsonb')}, ${col((action) => anchorRefOf(action.delay), 'text')},
    ${col((action) => (action.isBulk ? BULK_LANE : null), 'integer')}, ${col((action) => action.dedupKey, 'text')},
    ${col((action) => action.openKey, 'text')}, ${col((action) => action.traceparent ?? null, 'text')})
    with ordinality as action (organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config,
                               source_config, delay_spec, anchor_ref, lane, dedup_key, open_key, traceparent, n)`;
}

/** The delay as the row keeps it: each wait with the branch that it leads to. */
function explicit(delay: Delay): Delay {
  if (delay.mode !== 'waitForTracking') return delay;
  return {
    ...delay,
    waits: delay.waits.map((wait) => ({ ...wait, branch: wait.branch ?? DEFAULT_BRANCH[wait.source] })),
  };
}

/** Of actions that made no row: the row that was there before. By position; what meanwhile ended is left out. */
export async function findExisting(
  tx: Tx,
  actions: readonly ActionToSchedule[],
): Promise<ReadonlyMap<number, Scheduled>> {
  const { rows } = await tx.execute<{ n: string; same_id: string | null; open_id: string }>(sql`
    select action.n, same.id as same_id, open.id as open_id
      from unnest(
        ${column(
          actions.map(({ lineOaId }) => lineOaId),
          'bigint',
        )}, ${column(
          actions.map(({ dedupKey }) => dedupKey),
          'text',
        )},
        ${column(
          actions.map(({ openKey }) => openKey),
          'text',
        )}) with ordinality as action (line_oa_id, dedup_key, open_key, n)
      left join scheduled_action as same on same.line_oa_id = action.line_oa_id and same.dedup_key = action.dedup_key
      left join scheduled_action as open on open.line_oa_id = action.line_oa_id and open.open_key = action.open_key
            and open.status in ('pending', 'processing')
     where same.id is not null or open.id is not null`);
  return new Map(
    rows.map(({ n, same_id, open_id }) => [
      Number(n) - 1,
      same_id === null ? { result: 'already_pending', id: open_id } : { result: 'already_scheduled', id: same_id },
    ]),
  );
}
