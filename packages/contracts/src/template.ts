import { attributeName } from './names.ts';
import { isStorable, NOT_STORABLE } from './storable.ts';

/** What a placeholder stands for: an attribute of the person by its name, the name that the person goes by, or a text of its own. */
type Source =
  | { readonly of: 'attribute'; readonly name: string }
  | { readonly of: 'display_name' }
  | { readonly of: 'text'; readonly text: string };

/** A piece of a text: as it is, or to be filled in for each person. */
export type Part = string | { readonly source: Source; readonly fallback: string };

/** What is wrong with a text, and at which of its UTF-16 units, counted from 1. */
export interface TemplateProblem {
  readonly at: number;
  readonly problem: string;
}

/** What opens a placeholder; a text without it is what it is. */
export const OPEN = '{{';
const CLOSE = '}}';
const NAME = /[\p{L}\p{M}\p{N}_-]+/uy;
const STRING = /"(?:[^"\\]|\\.)*"/sy;
const SPACE = /\s*/y;

/**
 * Reads `{{ attribute.city | "your town" }}`, `{{ attribute["first name"] | "friend" }}`, `{{ display_name | "friend" }}` and, for two
 * braces themselves, `{{ "{{" }}`. Strings are those of JSON. Pure; the parts, or the first problem.
 */
export function parseTemplate(text: string): { readonly parts: readonly Part[] } | TemplateProblem {
  const parts: Part[] = [];
  let at = 0;
  for (let open = text.indexOf(OPEN); open >= 0; open = text.indexOf(OPEN, at)) {
    if (open > at) parts.push(text.slice(at, open));
    const placeholder = readPlaceholder(text, open);
    if ('problem' in placeholder) return placeholder;
    parts.push(placeholder.part);
    at = placeholder.end;
  }
  if (at < text.length) parts.push(text.slice(at));
  return { parts };
}

interface Cursor {
  readonly text: string;
  at: number;
}

type Read<T> = T | TemplateProblem;

const isProblem = <T extends object>(read: T | TemplateProblem): read is TemplateProblem => 'problem' in read;
const wrong = (at: number, problem: string): TemplateProblem => ({ at: at + 1, problem });

/** What `pattern`, a sticky one, finds here; undefined: nothing. Moves on behind it. */
function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const found = pattern.exec(cursor.text)?.[0];
  cursor.at += found?.length ?? 0;
  return found;
}

function takeWord(cursor: Cursor, word: string): boolean {
  take(cursor, SPACE);
  if (!cursor.text.startsWith(word, cursor.at)) return false;
  cursor.at += word.length;
  return true;
}

function readPlaceholder(text: string, open: number): Read<{ part: Part; end: number }> {
  const cursor: Cursor = { text, at: open + OPEN.length };
  const source = readSource(cursor);
  if (isProblem(source)) return source;
  const fallback = readFallback(cursor, source);
  if (isProblem(fallback)) return fallback;
  if (!takeWord(cursor, CLOSE)) {
    return text.includes(CLOSE, cursor.at)
      ? wrong(cursor.at, `unexpected ${JSON.stringify(text[cursor.at])} in a placeholder; }} was expected`)
      : wrong(open, 'a placeholder is opened by {{ and never closed by }}; two braces themselves are {{ "{{" }}');
  }
  return { part: { source, fallback: fallback.text }, end: cursor.at };
}

function readSource(cursor: Cursor): Read<Source> {
  take(cursor, SPACE);
  const at = cursor.at;
  if (cursor.text[at] === '"') {
    const literal = readString(cursor);
    return isProblem(literal) ? literal : { of: 'text', text: literal.text };
  }
  const root = take(cursor, NAME);
  if (root === 'display_name') return { of: 'display_name' };
  if (root === 'attribute') return readAttribute(cursor);
  if (root === undefined && !cursor.text.includes(CLOSE, at)) return unclosed(cursor);
  const known = 'a placeholder starts with attribute.<name>, display_name or "a text"';
  return wrong(at, root === undefined ? known : `unknown ${JSON.stringify(root)}: ${known}`);
}

function readAttribute(cursor: Cursor): Read<Source> {
  const at = cursor.at;
  const isQuoted = cursor.text[at] === '[';
  if (cursor.text[at] !== '.' && !isQuoted)
    return wrong(at, 'which attribute? attribute.<name> or attribute["<name>"]');
  cursor.at += 1;
  const name = isQuoted ? readString(cursor) : { text: take(cursor, NAME) ?? '' };
  if (isProblem(name)) return name;
  if (isQuoted && !takeWord(cursor, ']')) return wrong(cursor.at, 'attribute["<name>"] ends with ]');
  const isNested = !isQuoted && cursor.text[cursor.at] === '.';
  if (isNested) return wrong(cursor.at, 'an attribute with a dot in its name is attribute["<name>"]');
  const problem = attributeName.safeParse(name.text).error?.issues[0]?.message;
  if (problem !== undefined) return wrong(at, `no name of an attribute: ${problem}`);
  return { of: 'attribute', name: name.text };
}

/** Anything of a person may be missing, so a placeholder says what stands there then. */
function readFallback(cursor: Cursor, source: Source): Read<{ text: string }> {
  if (source.of === 'text') return { text: '' };
  const at = cursor.at;
  if (!takeWord(cursor, '|')) {
    if (!cursor.text.includes(CLOSE, at)) return unclosed(cursor);
    return takeWord(cursor, CLOSE)
      ? wrong(at, 'a fallback is missing: what stands there for people without it? {{ … | "a text" }}')
      : wrong(cursor.at, `unexpected ${JSON.stringify(cursor.text[cursor.at])}: | and a fallback were expected`);
  }
  take(cursor, SPACE);
  return readString(cursor);
}

function readString(cursor: Cursor): Read<{ text: string }> {
  const at = cursor.at;
  const quoted = take(cursor, STRING);
  if (quoted === undefined) return wrong(at, 'a text in double quotes was expected');
  try {
    const text = String(JSON.parse(quoted));
    return isStorable(text) ? { text } : wrong(at, NOT_STORABLE);
  } catch {
    return wrong(at, 'not a string of JSON: write \\n for a new line, \\" for a quote, \\\\ for a backslash');
  }
}

const unclosed = ({ text, at }: Cursor): TemplateProblem =>
  wrong(
    text.lastIndexOf(OPEN, at),
    'a placeholder is opened by {{ and never closed by }}; two braces themselves are {{ "{{" }}',
  );
