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
import { readStops, stopRecord } from './stops.ts';

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
  const began = performance.now();
  const history = await checkHistory({
    ...{ ledger, records: records(cast, run.stopped, rolls), seed: String(run.seed) },
    ...{ faultsEndedAt: run.faultsEndedAt, endedAt: clock.now() },
  });
  const checkMs = performance.now() - began;
  return reportOf({
    ...{ run, history, rolls: rolls.campaigns, fleet, checkMs, kills: plan.kills },
    results: await resultsOf(db, stage.campaigns),
    summary: await readSummary(stack.line.controlUrl),
    faults: await countFaults(ledger.requests()),
    pace: await readPace(db),
    stops: await readStops(cast, ledger, run.stopped),
    audit: await auditFindings(db),
  });
}

async function* records({ database, clock }: Cast, stopped: readonly Stopped[], rolls: RollCall) {
  yield* rolls.planned();
  const options = { toProductTime: clock.toProductTime, attemptDeadlineMs: ATTEMPT.deadlineMs };
  for await (const record of exportHistory(database.db, options)) {
    rolls.note(record);
    // Who was to be reached is known from the plan, and when it was stopped from who did: the product would hide what it forgot.
    if (record.kind !== 'planned' && record.kind !== 'stop') yield record;
  }
  yield* stopped.map(stopRecord);
}

/** A campaign, and what the product says became of its people. */
export interface CampaignOutcome {
  readonly lid: string;
  readonly status: string;
  readonly counts: Readonly<Record<string, number>> | undefined;
}

async function resultsOf(db: Db, campaigns: readonly StagedCampaign[]): Promise<CampaignOutcome[]> {
  const outcomes: CampaignOutcome[] = [];
  for (const { lid, ticket } of campaigns) {
    const { rows } = await db.$client.query<{ status: string }>('select status from campaign where id = $1', [
      ticket.id,
    ]);
    const counts = await getCampaignResult(db, { campaignId: ticket.id });
    outcomes.push({ lid, status: rows[0]?.status ?? 'gone', counts: counts && { ...counts } });
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
