import { PermanentError } from '@dueline/kernel';

const SECONDS: Readonly<Record<string, number>> = { d: 86_400, h: 3_600, m: 60, s: 1 };
const PATTERN = /^\+((\d{1,5}d)?(\d{1,6}h)?(\d{1,7}m)?(\d{1,9}s)?)$/;

/** `+3d`, `+2h30m`, `+45s` in seconds. @throws PermanentError for anything else, and for nothing. */
export function parseDuration(text: string): number {
  const parts = PATTERN.exec(text)?.[1]?.match(/\d+[dhms]/g) ?? [];
  const seconds = parts.reduce((sum, part) => sum + Number(part.slice(0, -1)) * (SECONDS[part.slice(-1)] ?? 0), 0);
  if (seconds === 0)
    throw new PermanentError(`"${text}" is not a time to move ahead by: for example +3d, +2h30m or +45s`);
  return seconds;
}
