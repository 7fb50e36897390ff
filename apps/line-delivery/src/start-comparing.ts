import { createSentCountClient } from '@dueline/line-client';
import { every } from '@dueline/runtime';
import type { Worker } from '@dueline/worker-app';
import { type CompareDeps, compareSentCounts } from './compare-sent-counts.ts';
import type { Config } from './config.ts';

/** Looks now and then for days that LINE has counted. */
export function startComparingSentCounts(
  { db, log, metrics, onStop }: Worker,
  { config, channelAccessToken }: { config: Config } & Pick<CompareDeps, 'channelAccessToken'>,
): void {
  const compared = metrics.counter({
    name: 'dueline_sent_counts_total',
    help: 'Days of accounts that were compared with what LINE counted, by how that came out.',
    labels: ['result'],
    from0: { result: ['agrees', 'deficit', 'not_told'] },
  });
  const line = createSentCountClient({ baseUrl: config.LINE_API_URL });
  onStop('sent counts client', () => line.close());
  const comparing = every({
    name: 'compare sent counts',
    log,
    metrics,
    intervalMs: config.SENT_COUNT_INTERVAL_SECONDS * 1_000,
    jitter: 0.5,
    run: compareSentCounts({
      ...{ db, line, log, channelAccessToken },
      tolerancePercent: config.SENT_COUNT_TOLERANCE_PERCENT,
      onCompared: (result) => compared.inc({ result }),
    }),
  });
  onStop('sent counts', () => comparing.stop());
}
