import { sleep } from '@dueline/kernel';
import type { ReceiptRow } from '@dueline/line-simulator';
import type { Waits } from './judge.ts';
import { type PlannedReceipt, receiptKey } from './plan.ts';
import type { Cast } from './seed.ts';
import type { Stack } from './stack/stack.ts';

const POLL_MS = 100;
/** After the last planned receipt: time in which a duplicate or an unplanned message would show. */
const QUIET_MS = 1_500;

export interface Watch {
  readonly receipts: readonly ReceiptRow[];
  /** Resolves when all planned messages were received and it stayed quiet, or when `timeoutMs` are over. */
  settled(planned: ReadonlyMap<string, PlannedReceipt>, timeoutMs: number): Promise<void>;
  stop(): void;
}

/** Reads LINE's receipts as they come, those after `since` (a seq; 0 is all). */
export function watchReceipts(
  line: Pick<Stack['line'], 'receiptsSince'>,
  onReceipts: (receipts: readonly ReceiptRow[]) => void,
  since = 0,
): Watch {
  const receipts: ReceiptRow[] = [];
  const stopped = new AbortController();
  let failure: unknown;
  const loop = (async () => {
    while (!stopped.signal.aborted) {
      const fresh = await line.receiptsSince(receipts.at(-1)?.seq ?? since);
      receipts.push(...fresh);
      if (fresh.length > 0) onReceipts(fresh);
      await sleep(POLL_MS, stopped.signal);
    }
  })().catch((error: unknown) => {
    failure = error;
  });
  return {
    receipts,
    settled: async (planned, timeoutMs) => {
      const deadline = performance.now() + timeoutMs;
      const missing = () => {
        const seen = new Set(
          receipts.map(({ channelId, user, lid }) => receiptKey({ channelId, userId: user, lid: lid ?? '' })),
        );
        return [...planned.keys()].some((key) => !seen.has(key));
      };
      while (missing() && performance.now() < deadline && failure === undefined) await sleep(POLL_MS);
      await sleep(QUIET_MS);
      if (failure !== undefined) throw failure;
    },
    stop: () => {
      stopped.abort();
      void loop;
    },
  };
}

/** What the database says of the waiting actions: when each was due, and how many were cancelled by re-evaluation. */
export async function readActions(
  { database }: Pick<Stack, 'database'>,
  cast: Cast,
): Promise<{ executeAt: Map<string, number>; cancelled: number }> {
  const { rows } = await database.db.$client.query<{
    channel_id: string;
    user_id: string;
    rule_id: string;
    due_ms: string;
  }>(
    `select channel_id, user_id, trigger_rule_id as rule_id, extract(epoch from execute_at) * 1000 as due_ms
       from scheduled_action join line_oa on line_oa.id = line_oa_id where scheduled_action.status = 'done'`,
  );
  const executeAt = new Map(
    rows.map((row) => [
      receiptKey({ channelId: row.channel_id, userId: row.user_id, lid: cast.lidOfRule.get(row.rule_id) ?? '' }),
      Number(row.due_ms),
    ]),
  );
  const logged = await database.db.$client.query<{ count: number }>(
    `select count(*)::int as count from trigger_log where decision = 'cancelled' and reason_code = 'conditions_no_longer_hold'`,
  );
  return { executeAt, cancelled: logged.rows[0]?.count ?? 0 };
}

/** Decisions by their reason, for people. */
export async function readDecisions({
  database,
}: Pick<Stack, 'database'>): Promise<{ decision: string; reason: string; count: number }[]> {
  const { rows } = await database.db.$client.query<{ decision: string; reason: string; count: number }>(
    `select decision, reason_code as reason, count(*)::int as count from trigger_log group by 1, 2 order by 3 desc, 1, 2`,
  );
  return rows;
}

/** What the database says of a campaign: its state, and when LINE accepted its last request after its time, in milliseconds. */
export interface CampaignResult {
  readonly name: string;
  readonly status: string;
  readonly requests: number;
  readonly doneAfterMs: number;
}

export async function readCampaigns({ database }: Pick<Stack, 'database'>): Promise<CampaignResult[]> {
  const { rows } = await database.db.$client.query<CampaignResult>(
    `select name, campaign.status, count(*)::int as requests,
            round(extract(epoch from max(accepted_at) - start_date) * 1000)::int as "doneAfterMs"
       from campaign join delivery on campaign_id = campaign.id group by campaign.id order by campaign.id`,
  );
  return rows;
}

/** What trigger_log says of those who waited for a click. */
export async function readWaits({ database }: Pick<Stack, 'database'>): Promise<Waits> {
  const { rows } = await database.db.$client.query<Waits>(
    `select count(*) filter (where decision = 'unlocked')::int as unlocked,
            count(*) filter (where decision = 'fired' and detail ->> 'branch' = 'expired')::int as expired,
            count(*) filter (where reason_code = 'fact_late')::int as late
       from trigger_log`,
  );
  return rows[0] ?? { unlocked: 0, expired: 0, late: 0 };
}
