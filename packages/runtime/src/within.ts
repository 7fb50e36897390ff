import { TransientError } from '@dueline/kernel';

/** What `promise` gives, or a TransientError after `ms` milliseconds; the work itself goes on unseen. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TransientError('no answer in time', { context: { ms } })), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
