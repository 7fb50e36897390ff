import { oneLine } from './actions/table.ts';

/** What somebody typed and is longer than so is not repeated whole. */
const MOST = 120;
const SHOWN = 60;

/** A message without the walls of text that were typed: of each its beginning, and how long it was. Pure. */
export function shortened(message: string, args: readonly string[]): string {
  const parts = args.flatMap((arg) => [arg, ...arg.split(/[=,#]/)]).filter(({ length }) => length > MOST);
  return [...new Set(parts)]
    .toSorted((left, right) => right.length - left.length)
    .reduce((text, part) => text.replaceAll(part, () => beginningOf(part)), message);
}

const beginningOf = (part: string): string =>
  `${oneLine(part.slice(0, 2 * SHOWN), SHOWN)} (${part.length.toLocaleString('en')} characters)`;
