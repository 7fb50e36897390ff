import { failLateCampaigns, reapCampaigns, recoverEarlierBoots } from '@dueline/campaigns';
import type { Db } from '@dueline/db';

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
    report('too_late', await failLateCampaigns(db));
  };
}
