import { PermanentError } from '@dueline/kernel';
import { errorCode } from './errors.ts';

/**
 * What `work` gives; an error of the database whose SQLSTATE is in `reasons` becomes a PermanentError with that reason.
 * Without the database's error as cause: its details hold the values.
 */
export async function refuseIf<T>(reasons: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const reason = reasons[errorCode(error) ?? ''];
    if (reason === undefined) throw error;
    throw new PermanentError(reason);
  }
}
