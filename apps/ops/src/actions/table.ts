/** Characters that take two columns of a terminal: East Asian wide ones and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

const segmenter = new Intl.Segmenter();
const graphemes = (text: string): string[] => [...segmenter.segment(text)].map(({ segment }) => segment);
const widthOf = (text: string): number => graphemes(text).reduce((sum, char) => sum + (WIDE.test(char) ? 2 : 1), 0);

/** Text on one line of at most `width` columns, without what would move the cursor. */
export function oneLine(text: string, width: number): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  if (widthOf(plain) <= width) return plain;
  let cut = '';
  for (const char of graphemes(plain)) {
    if (widthOf(cut + char) > width - 1) break;
    cut += char;
  }
  return `${cut}…`;
}

function pad(text: string, width: number, isRight: boolean): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return isRight ? space + text : text + space;
}

/** Lines of a table with a head; every column is as wide as its widest cell. */
export const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  columnsOf([head, ...rows], []);

/** Rows in columns, each as wide as its widest cell; those of `rightAligned` end below each other. */
export function columnsOf(rows: readonly (readonly string[])[], rightAligned: readonly number[]): string[] {
  const count = Math.max(0, ...rows.map(({ length }) => length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(...rows.map((row) => widthOf(row[at] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, at) => pad(cell, widths[at] ?? 0, rightAligned.includes(at)))
      .join('  ')
      .trimEnd(),
  );
}

/** An instant as a local time of the zone and, behind it, as UTC. */
export function timeIn(zone: string, instant: string | null): string {
  if (instant === null) return '-';
  const at = Temporal.Instant.from(instant).round('second');
  const local = at.toZonedDateTimeISO(zone).toPlainDateTime();
  return `${local.toPlainDate()} ${local.toPlainTime().toString({ smallestUnit: 'second' })}  (${shortUtc(at)})`;
}

const shortUtc = (at: Temporal.Instant): string => at.toString({ smallestUnit: 'second' }).slice(5).replace('T', ' ');
