import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './support.ts';

/** What a page tells its reader to type, and what it says comes of it. */
export interface Typed {
  /** `docs/tour.md:12`: where it begins. */
  readonly place: string;
  readonly script: string;
  /** It only looks, at what needs a moment: a reader would look again until it is there. */
  readonly isLook: boolean;
  /** Lines that its output has. */
  readonly shows: readonly string[];
  /** Why a test cannot type it. */
  readonly notRun: string | undefined;
}

const FENCE = /^```(\S*)\s*(.*)$/;
const NOT_RUN = /^<!-- not run: (.+) -->$/;

/**
 * The fenced blocks of a page: `sh` is typed, `sh again` is a look, and a `text` behind it is what it shows. A comment `<!-- not run: why -->` above it
 * says that a test cannot type it.
 */
export function readTyped(page: string): Typed[] {
  const typed: Typed[] = [];
  let block: { kind: string; about: string; begin: number; lines: string[] } | undefined;
  let notRun: string | undefined;
  for (const [index, line] of readFileSync(join(ROOT, page), 'utf8').split('\n').entries()) {
    const [, kind = '', about = ''] = FENCE.exec(line) ?? [];
    if (block === undefined && line.startsWith('```')) block = { kind, about, begin: index + 1, lines: [] };
    else if (block !== undefined && line === '```') {
      const { kind: of, lines, begin } = block;
      if (of === 'sh') {
        const isLook = block.about === 'again';
        typed.push({ place: `${page}:${begin}`, script: lines.join('\n'), isLook, shows: [], notRun });
      } else if (of === 'text') {
        const last = typed.pop();
        if (last !== undefined) typed.push({ ...last, shows: lines });
      }
      block = undefined;
      notRun = undefined;
    } else if (block !== undefined) block.lines.push(line);
    else if (line.trim() !== '') notRun = NOT_RUN.exec(line.trim())?.[1];
  }
  return typed;
}

/** Numbers, times and ids are others each time; so is how far columns stand apart. */
const sameEachTime = (line: string): string =>
  line
    .replace(/[\w+-]*\d[\w:.…+-]*/g, '#')
    .replace(/[─\s]+/g, ' ')
    .trim();

/**
 * The first line that should be shown and is not. `…` at the end of a line stands for its rest, and on a line alone for any lines. In any order: rows of a
 * table that are due at the same time come as they come.
 */
export function missingLine(shows: readonly string[], output: string): string | undefined {
  const lines = output.split('\n').map(sameEachTime);
  for (const shown of shows) {
    const wanted = sameEachTime(shown);
    if (wanted === '' || wanted === '…') continue;
    const fits = (line: string) =>
      wanted.endsWith('…') ? line.startsWith(wanted.slice(0, -1).trimEnd()) : line === wanted;
    const at = lines.findIndex(fits);
    if (at < 0) return shown;
    lines.splice(at, 1);
  }
  return undefined;
}
