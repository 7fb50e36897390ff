import { errorText } from '@dueline/kernel';
import type { Channel, ChannelModel } from 'amqplib';
import type { Log } from './types.ts';

/** Full jitter between tries of anything that talks to the broker, and between tries of a handler. */
export const BACKOFF = { baseMs: 200, capMs: 10_000 } as const;

/** A connection or channel that lived this long was fine: the next back-off starts from the beginning. */
export const STABLE_MS = 10_000;

/** True when `work` resolved within `ms`; a rejection counts as ended, its reason goes to the debug log. */
export async function within(ms: number, work: Promise<unknown>, log: Log): Promise<boolean> {
  const { promise: timeUp, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(resolve, ms, false);
  const ended = work.then(
    () => true,
    (error: unknown) => {
      log.debug(errorFields(error), 'ended with an error while closing');
      return true;
    },
  );
  try {
    return await Promise.race([ended, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}

/**
 * Closes a channel or a connection. The driver's own close never settles when the connection is lost before the broker has answered
 * it.
 */
export async function close(opened: Channel | ChannelModel): Promise<void> {
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  opened.once('close', () => resolve());
  await Promise.race([opened.close(), lost]);
}

/** Log fields of anything thrown. Only the first line: what follows may hold statement parameters. */
export function errorFields(error: unknown): { error: string; code?: string | number } {
  const text = errorText(error).split('\n', 1)[0] ?? '';
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' || typeof code === 'number' ? { error: text, code } : { error: text };
}
