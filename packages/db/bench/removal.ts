// How fast old work is removed, and what that costs PostgreSQL, without the rests. node packages/db/bench/removal.ts <postgres url> [actions]
import { readFileSync } from 'node:fs';
import { openDatabase, removeEndedWork } from '@dueline/db';
import { onScratch } from './scratch.ts';

const [, , adminUrl = '', actionsText = '100000'] = process.argv;
const actions = Number(actionsText);
/** Of a second, as Linux counts the time of processes. */
const TICKS = 100;

await onScratch(adminUrl, run);

/** Processor time of a server process on this machine, in seconds. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

async function run(url: string): Promise<void> {
  const { db, close } = openDatabase({
    ...{ url, applicationName: 'removal', maxConnections: 1, statementTimeoutMs: 600_000 },
    onError: () => undefined, // the statement in hand rejects with the same error
  });
  const query = (text: string) => db.$client.query(text);
  await query(`
    insert into organization (name) values ('removal');
    insert into line_oa (organization_id, channel_id, name) select id, '1', 'removal' from organization;
    insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, execute_at, due_at, created_at, executed_at,
                                  status, dedup_key)
    select organization_id, id, 'U' || lpad(to_hex(n), 32, '0'), 'send_message', '{}', at, at, at, at, 'done', gen_random_uuid()
      from line_oa, generate_series(1, ${actions}) as n, (select now() - interval '400 days' as at) as moment;
    insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, user_id, scheduled_action_id, retry_key, body, body_sha256,
                          status, accepted_at, line_request_id, deliver_until, created_date, next_attempt_at)
    select organization_id, line_oa_id, 'action', id, 'push', user_id, id, gen_random_uuid(), repeat('x', 200), repeat('x', 64),
           'accepted', executed_at, 'x', executed_at, executed_at, executed_at from scheduled_action;
    insert into delivery_attempt (delivery_id, attempt_no, organization_id, line_oa_id, fence, claimed_by, retry_key)
    select id, 1, organization_id, line_oa_id, 1, 'x', retry_key from delivery`);
  await query('vacuum analyze');
  const { rows } = await db.$client.query<{ pid: number; ended_before: string }>(
    `select pg_backend_pid() as pid, (now() - interval '300 days')::text as ended_before`,
  );
  for (const { pid, ended_before: endedBefore } of rows) {
    const took: number[] = [];
    const [startedAt, used] = [performance.now(), processorSeconds(pid)];
    const removed = await removeEndedWork(db, {
      ...{ endedBefore, mostRows: actions },
      pause: async (ms) => void took.push(ms),
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    const count = Object.values(removed.rows).reduce((sum, of) => sum + of, 0);
    const per10000 = ((processorSeconds(pid) - used) / count) * 10_000;
    console.log(JSON.stringify(removed.rows));
    console.log(`${Math.round(count / seconds)} rows a second, ${per10000.toFixed(2)} s of its processor for 10,000`);
    console.log(`the longest of ${took.length} batches took ${Math.round(Math.max(...took))} ms`);
  }
  await close();
}
