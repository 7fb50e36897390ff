import { type Listener, listen } from '@dueline/db';
import type { Worker } from './worker.ts';

/**
 * LISTENs on channels until the worker stops: calls what is to be woken for each hint, counts the hints, shows whether it hears, and logs one line when
 * it does no longer and one when it does again. No hint is promised to come, so the caller polls as well.
 *
 * @param options.wakes What to call, by channel.
 * @param options.url A direct connection: a pooler in transaction mode swallows every notification.
 */
export function wakeOnNotify(
  { log, metrics, onStop }: Pick<Worker, 'log' | 'metrics' | 'onStop'>,
  { url, wakes }: { url: string; wakes: Readonly<Record<string, () => void>> },
): Listener {
  const wakeups = metrics.counter({
    name: 'dueline_wakeups_total',
    help: 'Hints that something may be there, by the channel and by what gave them.',
    labels: ['channel', 'source'],
  });
  const channels = Object.keys(wakes);
  let isLost = false;
  const listener = listen({
    url,
    channels,
    onWake: (source, channel) => {
      if (isLost && source === 'connected') log.info({ channels }, 'LISTEN is back');
      isLost &&= source !== 'connected';
      wakeups.inc({ channel, source });
      wakes[channel]?.();
    },
    onLost: (error) => {
      isLost = true;
      log.warn({ err: error, channels }, 'LISTEN was lost; polling until it is back');
    },
  });
  onStop('listener', () => listener.close());
  metrics.gauge({
    name: 'dueline_listener_connected',
    help: '1 while LISTEN stands; without it work is found by polling.',
    collect: (gauge) => gauge.set(listener.connected() ? 1 : 0),
  });
  return listener;
}
