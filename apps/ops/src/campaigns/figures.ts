/** Cells of a bar that is full. */
const BAR_WIDTH = 24;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

export const countText = (count: number): string => count.toLocaleString('en');

/** A part of a whole as a bar; whatever is more than nothing shows, and only the whole is full. */
export function barOf(share: number): string {
  const whole = BAR_WIDTH * EIGHTHS.length;
  const exact = Math.round(share * whole);
  const eighths = share <= 0 ? 0 : share >= 1 ? whole : Math.min(whole - 1, Math.max(1, exact));
  return '█'.repeat(Math.floor(eighths / EIGHTHS.length)) + (EIGHTHS[eighths % EIGHTHS.length] ?? '');
}

/** Percent to one digit; only nothing is 0.0, and only everything 100.0. */
export function shareText(part: number, total: number): string {
  const percent = (part / total) * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent < 100 && percent > 99.9) return '> 99.9 %';
  return `${percent.toFixed(1)} %`;
}

/** `14.2 s`, `2 min 05 s`, `3 h 07 min`. */
export function durationText(seconds: number): string {
  const two = (count: number) => String(count).padStart(2, '0');
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${two(Math.floor(seconds % 60))} s`;
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}
