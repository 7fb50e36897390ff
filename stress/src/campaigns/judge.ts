import { getCampaignResult } from '@dueline/campaigns';
import type { Db } from '@dueline/db';
import { checkHistory, ledgerOfSimulator, type SummaryRow } from '@dueline/line-simulator';
import { countFaults } from '../chaos/count-faults.ts';
import { exportHistory } from '../chaos/export.ts';
import { ATTEMPT } from '../chaos/faults.ts';
import { auditFindings } from '../history.ts';
import type { Cast, Stopped } from './cast.ts';
import type { MemoryMeter } from './memory.ts';
import { type CampaignReport, reportOf } from './report.ts';
import { createRollCall, type RollCall } from './roll-call.ts';
import type { StagedCampaign } from './stage.ts';
import { readStops, type StopTimes, stopRecord } from './stops.ts';

export interface ToJudge {
  readonly seed: number;
  readonly recipients: number;
  readonly stopped: readonly Stopped[];
  readonly faultsEndedAt: string;
  readonly open: readonly string[];
  readonly populateMs: number;
  readonly sendMs: number;
  readonly memory: MemoryMeter;
}

/** Compares what was planned, what the product says, and what LINE delivered. */
export async function judge(cast: Cast, run: ToJudge): Promise<CampaignReport> {
  const { database, stack, stage, fleet, clock, plan } = cast;
  const { db } = database;
  const ledger = ledgerOfSimulator(stack.line.controlUrl.replace(/\/__sim$/, ''));
  const rolls = createRollCall(plan, stage.campaigns);
  const stops = await readStops(cast, ledger, run.stopped);
  const began = performance.now();
  const history = await checkHistory({
    ...{
      ledger,
      records: records(
        cast,
        run.stopped.map((stop, n) => ({ stop, times: stops[n] })),
        rolls,
      ),
      seed: String(run.seed),
    },
    ...{ faultsEndedAt: run.faultsEndedAt, endedAt: clock.now() },
  });
  const checkMs = performance.now() - began;
  return reportOf({
    ...{ run, history, rolls: rolls.campaigns, fleet, checkMs, kills: plan.kills },
    results: await resultsOf(db, stage.campaigns),
    summary: await readSummary(stack.line.controlUrl),
    faults: await countFaults(ledger.requests()),
    pace: await readPace(db),
    stops,
    audit: await auditFindings(db),
  });
}

type TimedStop = { readonly stop: Stopped; readonly times: StopTimes | undefined };

async function* records({ database, clock }: Cast, stopped: readonly TimedStop[], rolls: RollCall) {
  yield* rolls.planned();
  const options = { toProductTime: clock.toProductTime, attemptDeadlineMs: ATTEMPT.deadlineMs };
  for await (const record of exportHistory(database.db, options)) {
    rolls.note(record);
    // Who was to be reached is known from the plan, and when it was stopped from who did: the product would hide what it forgot.
    if (record.kind !== 'planned' && record.kind !== 'stop') yield record;
  }
  yield* stopped.flatMap(({ stop, times }) => (times === undefined ? [] : [stopRecord(stop, times)]));
}

/** A campaign, and what the product says became of its people. */
export interface CampaignOutcome {
  readonly lid: string;
  readonly status: string;
  readonly counts: Readonly<Record<string, number>> | undefined;
  /** From its start time until LINE was asked for the first of its requests, and for the last, in milliseconds; null: for none. */
  readonly lateMs?: { readonly first: number | null; readonly last: number | null } | undefined;
}

async function resultsOf(db: Db, campaigns: readonly StagedCampaign[]): Promise<CampaignOutcome[]> {
  const outcomes: CampaignOutcome[] = [];
  for (const { lid, ticket } of campaigns) {
    const { rows } = await db.$client.query<{ status: string; first: number | null; last: number | null }>(
      `select campaign.status, round(extract(epoch from min(first_attempt_at) - start_date) * 1000)::int as first,
              round(extract(epoch from max(first_attempt_at) - start_date) * 1000)::int as last
         from campaign left join delivery on campaign_id = campaign.id and split_path = '' where campaign.id = $1 group by campaign.id`,
      [ticket.id],
    );
    const { status = 'gone', first = null, last = null } = rows[0] ?? {};
    const counts = await getCampaignResult(db, { campaignId: ticket.id });
    outcomes.push({ lid, status, lateMs: { first, last }, counts: counts && { ...counts } });
  }
  return outcomes;
}

async function readSummary(controlUrl: string): Promise<SummaryRow[]> {
  const response = await fetch(`${controlUrl}/ledger/summary`);
  if (!response.ok) throw new Error(`the LINE simulator answered ${response.status}`);
  return ((await response.json()) as { lids: SummaryRow[] }).lids;
}

/** How fast requests were begun, and how long they took from written ahead to written down. */
export interface Pace {
  readonly attempts: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function readPace(db: Db): Promise<Pace> {
  const { rows } = await db.$client.query<Pace>(`
    select count(*)::int as attempts,
           round(count(*) / greatest(0.001, extract(epoch from max(started_at) - min(started_at))), 1)::float as "perSecond",
           round(percentile_cont(0.5) within group (order by ms))::int as "p50Ms",
           round(percentile_cont(0.99) within group (order by ms))::int as "p99Ms"
      from (select started_at, (extract(epoch from finished_at - started_at) * 1000)::float as ms from delivery_attempt) as attempt`);
  return rows[0] ?? { attempts: 0, perSecond: 0, p50Ms: 0, p99Ms: 0 };
}
