import { currentTick } from '@dueline/campaigns';
import { processCampaign } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { type Broker, TICK } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import type { FirstOf } from './tick-key.ts';

export interface TickDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish'>;
  readonly firstOf: FirstOf;
  readonly intervalSeconds: number;
  readonly onTick: (result: 'published' | 'failed') => void;
  readonly reach?: Reach | undefined;
}

/**
 * Publishes one empty message on process_campaign when the product's clock has reached a new minute and no other replica was
 * first. Called several times in that interval: a tick that the broker did not confirm is tried again.
 */
export function tickCampaigns({ db, broker, firstOf, intervalSeconds, onTick, reach }: TickDeps): () => Promise<void> {
  let done: string | undefined;
  let owed: string | undefined;
  return async () => {
    const { key, ttlMs } = await currentTick(db, { intervalSeconds });
    if (key === done) return;
    if (key !== owed && !(await firstOf(key, ttlMs))) {
      done = key;
      return;
    }
    owed = key;
    reach?.('tick_campaign.keyed');
    const [result] = await broker.publish(processCampaign, [TICK]);
    if (result?.ok) {
      done = key;
      reach?.('tick_campaign.published');
    }
    onTick(result?.ok ? 'published' : 'failed');
  };
}
