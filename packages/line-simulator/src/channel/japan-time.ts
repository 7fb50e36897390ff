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

export function isDay(day: string): boolean {
  const parts = /^(\d{4})(\d{2})(\d{2})$/.exec(day);
  if (parts === null) return false;
  const [, year, month, date] = parts.map(Number);
  const instant = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, date));
  return instant.toISOString().slice(0, 10).replaceAll('-', '') === day;
}

/** The same number as `dayNumberOf` any instant of the day. */
export function dayNumber(day: string): number {
  return Date.parse(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`) / DAY_MS;
}
