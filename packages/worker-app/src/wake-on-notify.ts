import { type Listener, listen } from '@dueline/db';
import type { Worker } from './worker.ts';

/**
 * LISTENs on a channel until the worker stops: calls `onWake` for each hint, counts the hints, shows whether it hears, and logs one line when
 * it does no longer and one when it does again. No hint is promised to come, so the caller polls as well.
 *
 * @param options.url A direct connection: a pooler in transaction mode swallows every notification.
 */
export function wakeOnNotify(
  { log, metrics, onStop }: Pick<Worker, 'log' | 'metrics' | 'onStop'>,
  { url, channel, onWake }: { url: string; channel: string; onWake: () => void },
): Listener {
  const wakeups = metrics.counter({
    name: 'dueline_wakeups_total',
    help: 'Hints that something may be there, by the channel and by what gave them.',
    labels: ['channel', 'source'],
  });
  let isLost = false;
  const listener = listen({
    url,
    channel,
    onWake: (source) => {
      if (isLost && source === 'connected') log.info({ channel }, 'LISTEN is back');
      isLost &&= source !== 'connected';
      wakeups.inc({ channel, source });
      onWake();
    },
    onLost: (error) => {
      isLost = true;
      log.warn({ err: error, channel }, 'LISTEN was lost; polling until it is back');
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
