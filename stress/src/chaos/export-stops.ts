import type { Db } from '@dueline/db';
import { type ExportRecord, extractLids } from '@dueline/line-simulator';
import type { ToProductTime } from './export.ts';

interface StopRow {
  readonly channelId: string;
  /** Product time, milliseconds since the epoch. */
  readonly atMs: number;
  readonly untilMs: number | null;
}

interface CancelRow {
  readonly channelId: string;
  readonly messages: unknown[];
  /** Process time, milliseconds since the epoch. */
  readonly atMs: number;
}

/**
 * The emergency stops of accounts and organizations, and the cancelled campaigns. A stop counts from when nothing that began before it
 * can be new to LINE any more.
 */
export async function* exportStops(
  db: Db,
  { toProductTime, attemptDeadlineMs }: { toProductTime: ToProductTime; attemptDeadlineMs: number },
): AsyncGenerator<ExportRecord> {
  for (const { channelId, atMs, untilMs } of await readStops(db)) {
    const at = atMs + attemptDeadlineMs;
    if (untilMs !== null && untilMs <= at) continue;
    const until = untilMs === null ? {} : { until: new Date(untilMs).toISOString() };
    yield { kind: 'stop', verb: 'pause', channelId, at: new Date(at).toISOString(), ...until };
  }
  for (const { channelId, messages, atMs } of await readCancels(db)) {
    const at = new Date(toProductTime(atMs)).toISOString();
    for (const lid of extractLids(messages)) yield { kind: 'stop', verb: 'cancel', channelId, lid, at };
  }
}

async function readStops(db: Db): Promise<StopRow[]> {
  const { rows } = await db.$client.query<StopRow>(`
    select account.channel_id as "channelId", (extract(epoch from stop.created_at) * 1000)::float as "atMs",
           (select (extract(epoch from min(created_at)) * 1000)::float from audit_log as resume
             where resume.operation = 'resume' and resume.organization_id = stop.organization_id
               and resume.line_oa_id is not distinct from stop.line_oa_id and resume.id > stop.id) as "untilMs"
      from audit_log as stop
      join line_oa as account
        on account.organization_id = stop.organization_id and (stop.line_oa_id is null or account.id = stop.line_oa_id)
     where stop.operation = 'stop'
     order by stop.id, account.id`);
  return rows;
}

async function readCancels(db: Db): Promise<CancelRow[]> {
  const { rows } = await db.$client.query<CancelRow>(`
    select account.channel_id as "channelId", messages, (extract(epoch from campaign.updated_date) * 1000)::float as "atMs"
      from campaign join line_oa as account on account.id = campaign.line_oa_id
     where campaign.status = 'cancel'
     order by campaign.id`);
  return rows;
}
