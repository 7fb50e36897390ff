import type { World } from '../api/exchange.ts';
import { channelById } from '../channel/channels.ts';
import type { QuotaSetting } from '../config.ts';
import type { ListenerFault, ListenerState } from './listener.ts';

/** Moves of the world around the client. @throws PermanentError, from each that names a channel, if it is not there. */
export interface Scenario {
  /** Another plan: the limit of the month. What was sent stays counted. */
  setQuota(channelId: string, quota: QuotaSetting): void;
  /** Messages that somebody sends by other means than this API; they count against the quota. */
  consumeOutside(channelId: string, count: number): void;
  /** For so many milliseconds of LINE's clock a narrowcast holds back so much of the quota, which the quota does not show. */
  startNarrowcastReservation(channelId: string, count: number, ms: number): void;
  /** The pause of a channel was acknowledged: a send under a key not seen before is V8 until it goes on. */
  markPaused(channelId: string): void;
  markResumed(channelId: string): void;
  /** Shuts the API, makes it a hole that never answers, or opens it again. Ends when that is done. */
  listener(state: ListenerState): Promise<void>;
}

export function createScenario({ world, listener }: { world: World; listener: ListenerFault }): Scenario {
  const channel = (channelId: string) => channelById(world.stage().channels, channelId);
  return {
    setQuota: (channelId, quota) => channel(channelId).quota.change(quota),
    consumeOutside: (channelId, count) => channel(channelId).quota.consume(count, world.clock.now()),
    startNarrowcastReservation: (channelId, count, ms) =>
      channel(channelId).quota.reserve(count, world.clock.now() + ms),
    markPaused(channelId) {
      channel(channelId).pausedAfter = world.stage().store.requests.count;
    },
    markResumed(channelId) {
      channel(channelId).pausedAfter = undefined;
    },
    async listener(state) {
      listener.set(state);
      await listener.settled();
    },
  };
}
