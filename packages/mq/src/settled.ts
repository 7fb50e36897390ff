import { errorText, sleep } from '@dueline/kernel';
import type { ChannelModel } from 'amqplib';
import type { Link } from './link.ts';
import type { Log } from './types.ts';
import { close } from './waiting.ts';

const POLL_MS = 20;
/** Looks that must agree before a queue counts as empty: a message can be on its way from the broker to us. */
const SETTLED_LOOKS = 2;

/** Counts the messages that wait in the named queues; undefined while the broker does not say. */
export type CountWaiting = (queues: readonly string[]) => Promise<number | undefined>;

/** Makes the function that asks the broker by a passive declaration, on a channel of its own: a missing queue costs that one only. */
export function createWaitingCount(link: Link, log: Log): CountWaiting {
  let connection: ChannelModel | undefined;
  link.onConnection((opened) => {
    connection = opened;
  });
  return async (queues) => {
    try {
      const channel = await connection?.createChannel();
      if (channel === undefined) return undefined;
      channel.on('error', (error) => log.debug({ error: errorText(error) }, 'queue cannot be looked at'));
      const looks = await Promise.all(queues.map((queue) => channel.checkQueue(queue)));
      await close(channel);
      return looks.reduce((sum, { messageCount }) => sum + messageCount, 0);
    } catch (error) {
      log.debug({ error: errorText(error) }, 'queues cannot be looked at');
      return undefined;
    }
  };
}

/** Makes the function that resolves when nothing is in hand and all given queues are empty. */
export function createSettledCheck(
  countWaiting: CountWaiting,
  { inHand, queues }: { readonly inHand: () => number; readonly queues: () => readonly string[] },
): () => Promise<void> {
  return async () => {
    for (let quiet = 0; quiet < SETTLED_LOOKS; ) {
      const idle = inHand() === 0 && (await countWaiting(queues())) === 0 && inHand() === 0;
      quiet = idle ? quiet + 1 : 0;
      if (quiet < SETTLED_LOOKS) await sleep(POLL_MS);
    }
  };
}
