import { RE2JS } from 're2js';

const MAX_PATTERN_LENGTH = 256;
/** Steps of the compiled pattern: a search takes at most so many for each character of the text. */
const MAX_PROGRAM_SIZE = 500;
const MAX_KNOWN = 500;
const known = new Map<string, RE2JS>();

/** What is wrong with a pattern; undefined: nothing. */
export function patternProblem(source: string): string | undefined {
  if (source.length > MAX_PATTERN_LENGTH) return `a pattern has at most ${MAX_PATTERN_LENGTH} characters`;
  const compiled = compile(source);
  if (compiled === undefined) return 'is no pattern of RE2 (which has no look-around and no back-references)';
  return compiled.programSize() > MAX_PROGRAM_SIZE ? 'repeats too much to be searched for' : undefined;
}

/** Whether the pattern is found anywhere in the text, in time linear in both. What is no pattern is found nowhere. */
export const isFound = (source: string, text: string): boolean => compile(source)?.test(text) ?? false;

function compile(source: string): RE2JS | undefined {
  const before = known.get(source);
  if (before !== undefined) return before;
  try {
    const compiled = RE2JS.compile(source);
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(source, compiled);
    return compiled;
  } catch {
    return undefined;
  }
}
