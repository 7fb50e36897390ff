import { openAttention } from '@dueline/attention';
import { failLateCampaigns, reapCampaigns, recoverEarlierBoots } from '@dueline/campaigns';
import { type Db, inTransaction } from '@dueline/db';

export interface ReapDeps {
  readonly db: Db;
  readonly claimedBy: string;
  readonly staleSeconds: number;
  readonly onReaped: (what: 'stale' | 'earlier_boot' | 'too_late', count: number) => void;
}

/** Takes back campaigns whose dispatcher or senders died, and fails those whose time is over. */
export function reapDeadCampaigns({ db, claimedBy, staleSeconds, onReaped }: ReapDeps): () => Promise<void> {
  let rowsOfEarlierBoots = true; // a new boot cannot meet one later
  const report = (what: Parameters<typeof onReaped>[0], count: number) => {
    if (count > 0) onReaped(what, count);
    return count;
  };
  return async () => {
    if (rowsOfEarlierBoots)
      rowsOfEarlierBoots = report('earlier_boot', await recoverEarlierBoots(db, { claimedBy })) > 0;
    report('stale', await reapCampaigns(db, { staleSeconds }));
    report('too_late', await failLate(db));
  };
}

/** What never started and never will, a person hears of. */
const failLate = (db: Db): Promise<number> =>
  inTransaction(db, async (tx) => {
    const late = await failLateCampaigns(tx);
    const item = {
      kind: 'campaign_not_sent',
      userId: null,
      reasonCode: 'too_late',
      detail: { status: 'failed' },
    } as const;
    await openAttention(
      tx,
      late.map(({ id, ...tenant }) => ({ ...tenant, ...item, refId: id })),
    );
    return late.length;
  });
