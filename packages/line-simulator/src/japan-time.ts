const UTC_PLUS_9_MS = 9 * 3_600_000;
const DAY_MS = 86_400_000;

/** LINE's days and months are those of UTC+9: `yyyymmdd`. */
export function dayOf(ms: number): string {
  return new Date(ms + UTC_PLUS_9_MS).toISOString().slice(0, 10).replaceAll('-', '');
}

/** `yyyy-mm` */
export function monthOf(ms: number): string {
  return new Date(ms + UTC_PLUS_9_MS).toISOString().slice(0, 7);
}

/** Days since 1970, counted in UTC+9; cheap enough for every send. */
export function dayNumberOf(ms: number): number {
  return Math.floor((ms + UTC_PLUS_9_MS) / DAY_MS);
}
