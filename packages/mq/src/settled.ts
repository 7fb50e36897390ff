import { errorText, sleep } from '@dueline/kernel';
import type { ChannelModel } from 'amqplib';
import type { Link } from './link.ts';
import type { Log } from './types.ts';

const POLL_MS = 20;
/** Looks that must agree before a queue counts as empty: a message can be on its way from the broker to us. */
const SETTLED_LOOKS = 2;

interface SettledOptions {
  readonly inHand: () => number;
  readonly queues: () => readonly string[];
  readonly log: Log;
}

/** Makes the function that resolves when nothing is in hand and all given queues are empty. */
export function createSettledCheck(link: Link, options: SettledOptions): () => Promise<void> {
  let connection: ChannelModel | undefined;
  link.onConnection((opened) => {
    connection = opened;
  });
  return () => untilSettled(() => connection, options);
}

async function untilSettled(connection: () => ChannelModel | undefined, options: SettledOptions): Promise<void> {
  for (let quiet = 0; quiet < SETTLED_LOOKS; ) {
    const idle = options.inHand() === 0 && (await areEmpty(connection(), options)) && options.inHand() === 0;
    quiet = idle ? quiet + 1 : 0;
    if (quiet < SETTLED_LOOKS) await sleep(POLL_MS);
  }
}

async function areEmpty(connection: ChannelModel | undefined, { queues, log }: SettledOptions): Promise<boolean> {
  try {
    const channel = await connection?.createChannel();
    if (channel === undefined) return false;
    channel.on('error', (error) => log.debug({ error: errorText(error) }, 'queue cannot be looked at'));
    const looks = await Promise.all(queues().map((queue) => channel.checkQueue(queue)));
    await channel.close();
    return looks.every(({ messageCount }) => messageCount === 0);
  } catch (error) {
    log.debug({ error: errorText(error) }, 'queues cannot be looked at');
    return false;
  }
}
