import { sleep } from '@dueline/kernel';
import pg from 'pg';
import type { Payload } from './payload.ts';
import type { Mode, OnJob } from './peer.ts';

export const SCHEMA = 'bench_raw_sql';
export const TABLE = `${SCHEMA}.scheduled_action`;
export const HISTORY = `${SCHEMA}.history`;
export const MESSAGE = `${SCHEMA}.message`;
export const PER_CLAIM = 500;

/** What stays of a job: its row, or beside it what stays of an action of ours, a line of history for each step and a message to send. */
export type Keeping = 'row' | 'history';

interface Pace {
  /** How long it sleeps when a claim was not full. */
  readonly pollMs: number;
  /** How much earlier than due it claims; the rest it waits in this process. */
  readonly lookAheadMs: number;
}

export const PACES: Readonly<Record<Mode, Pace>> = {
  default: { pollMs: 1_000, lookAheadMs: 0 },
  tuned: { pollMs: 200, lookAheadMs: 0 },
  late: { pollMs: 200, lookAheadMs: 500 },
};

const CLAIM = `
  with due as materialized (
    select id from ${TABLE}
     where status = 'pending' and execute_at <= now() + $1 * interval '1 millisecond'
     order by execute_at
     limit ${PER_CLAIM}
       for update skip locked
  )
  update ${TABLE} as action set status = 'processing', updated_at = now()
    from due
   where action.id = due.id
  returning action.id, action.user_id, action.action_type, action.action_config, action.source_config,
            action.workflow_id, action.workflow_node_path, action.retry_count, action.execute_at, action.expires_at`;

const END = `
  update ${TABLE} set status = 'done', executed_at = now(), updated_at = now()
   where id = any($1::bigint[]) and status = 'processing'`;

const FINISH: Readonly<Record<Keeping, string>> = {
  row: END,
  history: `
  with ended as (
    ${END}
    returning id, trigger_rule_id, user_id, action_type, action_config
  ), told as (
    insert into ${HISTORY} (scheduled_action_id, trigger_rule_id, user_id, action_type, action_config, decision)
    select id, trigger_rule_id, user_id, action_type, action_config, 'fired' from ended
  )
  insert into ${MESSAGE} (scheduled_action_id, trigger_rule_id, user_id, body, body_sha256)
  select id, trigger_rule_id, user_id, action_config ->> 'messages',
         encode(sha256(convert_to(action_config ->> 'messages', 'UTF8')), 'hex')
    from ended`,
};

interface ClaimedRow {
  readonly id: string;
  readonly action_config: Payload;
}

/** Calls `fire` for each row when it is due: at once, or from a timer. */
function createTimers(fire: (row: ClaimedRow) => void) {
  let waiting = 0;
  /** A timer may come a little early, so each looks at the clock again. */
  const add = (row: ClaimedRow): void => {
    const waitMs = row.action_config.dueAt - Date.now();
    if (waitMs <= 0) {
      fire(row);
      return;
    }
    waiting += 1;
    setTimeout(() => {
      waiting -= 1;
      add(row);
    }, waitMs);
  };
  return { add, waiting: () => waiting };
}

/** Claims and finishes until it is told to stop; then it fires what it has claimed already. @returns what stops it. */
export async function startWorking(
  databaseUrl: string,
  { pace, keeping }: { pace: Pace; keeping: Keeping },
  onJob: OnJob,
): Promise<() => Promise<void>> {
  const [claiming, finishing] = [new pg.Client(databaseUrl), new pg.Client(databaseUrl)];
  await Promise.all([claiming.connect(), finishing.connect()]);
  let isStopping = false;
  let handled: string[] = [];
  const timers = createTimers(({ id, action_config }) => {
    onJob(action_config);
    handled.push(id);
  });
  const finish = async (): Promise<void> => {
    const ids = handled;
    handled = [];
    if (ids.length > 0) await finishing.query({ name: 'finish', text: FINISH[keeping], values: [ids] });
  };
  const loop = async (): Promise<void> => {
    let finished = Promise.resolve();
    while (!isStopping) {
      const { rows } = await claiming.query<ClaimedRow>({ name: 'claim', text: CLAIM, values: [pace.lookAheadMs] });
      for (const row of rows) timers.add(row);
      await finished;
      finished = finish(); // beside the next claim
      if (rows.length < PER_CLAIM) await sleep(pace.pollMs);
    }
    while (timers.waiting() > 0) await sleep(10);
    await finished;
    await finish();
  };
  const ended = loop();
  return async () => {
    isStopping = true;
    await ended;
    await Promise.all([claiming.end(), finishing.end()]);
  };
}
