import { DEFAULT_BRANCH, type Delay } from '@dueline/contracts';
import {
  type Alongside,
  column,
  type Db,
  type Rows,
  rowsGiven,
  rowsOf,
  type SQL,
  type Statement,
  sharedGiven,
  sql,
  statement,
  type Tx,
} from '@dueline/db';
import { anchorRefOf } from './anchor.ts';
import type { ActionToSchedule, Scheduled } from './schedule.ts';
import { countedFrom, type Dated, datesOf } from './timing.ts';

/**
 * By position; an action that has a row already, or another one open, is left out. One statement for the rows, one more before it
 * where a delay goes by a calendar or a date, and one after it where something waits for facts.
 */
export async function insertActions(
  on: Db | Tx,
  actions: readonly ActionToSchedule[],
  alongside: Alongside | undefined,
): Promise<ReadonlyMap<number, Scheduled>> {
  const dates = await datesOf(on, actions);
  const scheduled = new Map<number, Scheduled>();
  const planned: Planned[] = [];
  const keys = new Set<string>();
  for (const [n, action] of actions.entries()) {
    const dated = dates[n] ?? null;
    const key = keyOf(action.lineOaId, action.dedupKey);
    if (dated === null) scheduled.set(n, { result: 'no_date' });
    else if (!keys.has(key)) planned.push({ n, key, action, dated });
    keys.add(key);
  }
  const made = await insertPlanned(on, planned, alongside);
  await insertWaits(on, made);
  for (const { n, id, dated } of made) scheduled.set(n, parseMade(id, dated));
  return scheduled;
}

interface Planned {
  readonly n: number;
  readonly key: string;
  readonly action: ActionToSchedule;
  readonly dated: Dated;
}

type Made = Planned & { readonly id: string };

const keyOf = (lineOaId: string, dedupKey: string) => `${lineOaId}:${dedupKey}`;

/**
 * In the order of their keys, so that two transactions that insert the same ones wait for each other instead of for ever; of those that exclude
 * each other the first that was given comes first.
 */
async function insertPlanned(
  on: Db | Tx,
  planned: readonly Planned[],
  alongside: Alongside | undefined,
): Promise<Made[]> {
  if (planned.length === 0) return [];
  const byKey = new Map(planned.map((plan) => [plan.key, plan]));
  const sorted = planned.length === 1 ? planned : [...planned].sort(byLockedKey);
  const { unlessOpen, unlessThere } = insertsWith(alongside?.template);
  const insert = sorted.some(({ action }) => action.openKey !== null) ? unlessOpen : unlessThere;
  const rows = await insert(on, { ...alongside?.values, actions: rowsOf(sorted, toRow) });
  return rows.flatMap(({ id, line_oa_id, dedup_key }) => {
    const plan = byKey.get(keyOf(line_oa_id, dedup_key));
    return plan === undefined ? [] : { ...plan, id };
  });
}

const lockedKey = ({ action: { lineOaId, openKey, dedupKey } }: Planned): string =>
  keyOf(lineOaId, openKey ?? dedupKey);

function byLockedKey(left: Planned, right: Planned): number {
  const [one, other] = [lockedKey(left), lockedKey(right)];
  return one === other ? left.n - right.n : one < other ? -1 : 1;
}

const INSERT = sql`
  insert into scheduled_action (
    organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config, source_config,
    delay_spec, anchor_ref, execute_at, due_at, expires_at, anchor_at, lane, max_lateness_seconds, status, executed_at, cancel_reason,
    last_error, dedup_key, open_key, traceparent)
  select organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type,
         ${sharedGiven('actions', 'action_config')}, ${sharedGiven('actions', 'source_config')},
         ${sharedGiven('actions', 'delay_spec')}, anchor_ref, greatest(due, app_now()), due, case when waits then due end, case when waits then app_now() end,
         coalesce(lane, case when due > app_now() then 1 else 0 end), max_lateness_seconds, status,
         case when status <> 'pending' then app_now() end, case when status = 'cancelled' then 'date_past' end,
         case when status = 'failed' then 'date_past' end, dedup_key, open_key, traceparent
    from ${rowsGiven('actions')} as action (
           organization_id bigint, line_oa_id bigint, trigger_rule_id bigint, rule_version integer, event_id uuid, root_id uuid, user_id text,
           action_type text, action_config integer, source_config integer, delay_spec integer, anchor_ref text, counted_from timestamptz, seconds double precision,
           date timestamptz, waits boolean, lane smallint, max_lateness_seconds integer, status text, dedup_key text, open_key text,
           traceparent text)
   cross join lateral (select coalesce(date, coalesce(counted_from, app_now()) + make_interval(secs => seconds)) as due) as timing`;

type Insert = Statement<
  { id: string; line_oa_id: string; dedup_key: string },
  { readonly actions: Rows; readonly [given: string]: Rows | string }
>;

/** By what goes along: each is a statement of its own, and there are few. */
const inserts = new Map<SQL | undefined, Record<'unlessThere' | 'unlessOpen', Insert>>();

function insertsWith(template: SQL | undefined): Record<'unlessThere' | 'unlessOpen', Insert> {
  const known = inserts.get(template);
  if (known !== undefined) return known;
  const built = {
    // where nothing has an open key, other unique keys need no look for each row
    unlessThere: buildInsert(sql`(line_oa_id, dedup_key)`, template),
    unlessOpen: buildInsert(sql``, template),
  };
  inserts.set(template, built);
  return built;
}

function buildInsert(conflict: SQL, template: SQL | undefined): Insert {
  const insert = sql`${INSERT} on conflict ${conflict} do nothing`;
  if (template === undefined) return statement(sql`${insert} returning id, line_oa_id, dedup_key`);
  return statement(sql`
    with made as (
      ${insert}
      returning id, organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config,
                delay_spec, status, due_at, created_at, dedup_key
    ), alongside as (${template})
    select id, line_oa_id, dedup_key from made`);
}

const BULK_LANE = 2;

const toRow = ({ action, dated }: Planned, share: (document: unknown) => number | null) => ({
  organization_id: action.organizationId,
  line_oa_id: action.lineOaId,
  trigger_rule_id: action.triggerRuleId,
  rule_version: action.ruleVersion,
  event_id: action.eventId,
  root_id: action.rootId,
  user_id: action.userId,
  action_type: action.request.actionType,
  action_config: share(action.request.actionConfig),
  source_config: share(action.sourceConfig),
  delay_spec: share(explicit(action.delay)),
  anchor_ref: anchorRefOf(action.delay),
  counted_from: countedFrom(action),
  seconds: 'seconds' in dated ? dated.seconds : null,
  date: 'due' in dated ? dated.due : null,
  waits: action.delay.mode === 'waitForTracking',
  lane: action.isBulk ? BULK_LANE : null,
  max_lateness_seconds: action.delay.maxLatenessSeconds,
  status: statusOf(dated),
  dedup_key: action.dedupKey,
  open_key: action.openKey,
  traceparent: action.traceparent,
});

function statusOf(dated: Dated): 'pending' | 'cancelled' | 'failed' {
  if ('seconds' in dated || !dated.isPast || dated.whenPast === 'fire') return 'pending';
  return dated.whenPast === 'skip' ? 'cancelled' : 'failed';
}

function parseMade(id: string, dated: Dated): Scheduled {
  const status = statusOf(dated);
  if (status === 'pending') return { result: 'made', id, isPast: 'due' in dated && dated.isPast };
  return { result: status === 'failed' ? 'failed' : 'skipped', id };
}

/** The delay as the row keeps it: each wait with the branch that it leads to. */
function explicit(delay: Delay): Delay {
  return delay.mode === 'waitForTracking' ? { ...delay, waits: explicitWaits(delay) } : delay;
}

const explicitWaits = ({ waits }: Extract<Delay, { mode: 'waitForTracking' }>) =>
  waits.map((wait) => ({ ...wait, branch: wait.branch ?? DEFAULT_BRANCH[wait.source] }));

async function insertWaits(on: Db | Tx, made: readonly Made[]): Promise<void> {
  const waits = made.flatMap(({ id, action: { delay, organizationId, lineOaId, userId } }) =>
    delay.mode !== 'waitForTracking'
      ? []
      : explicitWaits(delay).map((wait, at) => ({
          ...{ scheduled_action_id: id, n: at + 1, organization_id: organizationId, line_oa_id: lineOaId },
          ...{ user_id: userId, source: wait.source, ref_id: 'refId' in wait ? wait.refId : null, branch: wait.branch },
        })),
  );
  if (waits.length > 0) await insertWaitRows(on, { waits: rowsOf(waits, (wait) => wait) });
}

const insertWaitRows = statement<never, { waits: Rows }>(sql`
  insert into action_wait (scheduled_action_id, n, organization_id, line_oa_id, user_id, source, ref_id, branch)
  select * from ${rowsGiven('waits')} as wait (
    scheduled_action_id bigint, n smallint, organization_id bigint, line_oa_id bigint, user_id text, source text, ref_id text, branch text)`);

/** Of actions that made no row: the row that was there before. By position; what meanwhile ended is left out. */
export async function findExisting(
  on: Db | Tx,
  actions: readonly ActionToSchedule[],
): Promise<ReadonlyMap<number, Scheduled>> {
  const { rows } = await on.execute<{ n: string; same_id: string | null; open_id: string }>(sql`
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
