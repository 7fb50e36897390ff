import { CAMPAIGN_DUE_CHANNEL, campaignsDueWithin } from '@dueline/campaigns';
import type { Broker } from '@dueline/mq';
import { startClaiming, type Worker } from '@dueline/worker-app';
import { type PublishDeps, publishDueCampaigns } from './process-campaign.ts';

export interface OnTimeDeps extends PublishDeps {
  readonly broker: Pick<Broker, 'publish' | 'state'>;
}

/**
 * Claims and publishes campaigns at the millisecond of their start, beside the ticks, which stay as the net. Claims nothing while
 * the broker is away; what it did not confirm is due again, and tried at growing intervals up to a second.
 *
 * @param options.listenUrl A direct connection, for the hints; undefined: campaigns are found by a look each second.
 */
export function startOnTime(
  worker: Pick<Worker, 'log' | 'metrics' | 'onStop'>,
  { deps, listenUrl }: { deps: OnTimeDeps; listenUrl: string | undefined },
): void {
  startClaiming(worker, {
    name: 'campaigns that are due',
    lookAhead: (withinMs) => campaignsDueWithin(deps.db, withinMs),
    run: async () => deps.broker.state() === 'ready' && (await publishDueCampaigns(deps)).isMore,
    listen: listenUrl === undefined ? undefined : { url: listenUrl, channel: CAMPAIGN_DUE_CHANNEL },
    onWake: () => undefined,
  });
}
