/** Something on this machine stands in the way. The message is written for the person at the terminal: it names values and commands. */
export class LocalServicesError extends Error {
  constructor(message: string, { cause }: { cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'LocalServicesError';
  }
}

/** The system error code of an unknown thrown value, `ENOENT` for example. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A port that was free when it was picked is not any more: another one may do. */
export class PortTakenError extends LocalServicesError {}
