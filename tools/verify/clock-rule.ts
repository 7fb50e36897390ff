import { numberedLines, ownFiles } from './files.ts';
import type { Finding } from './tool.ts';

// A method or a JavaScript function of that name has a dot before it, or a type or a body behind it.
const PRODUCT_TIME_BY_HAND =
  /(?<![\w.])now\(\)(?!\s*[:{=])|(?<![\w.])(?:statement_timestamp|transaction_timestamp)\(\)|\b(?:current_timestamp|localtimestamp)\b/i;
const PROCESS_TIME = /clock_timestamp\(\)/gi;
const COLUMNS =
  '(?:lease_until|claimed_at|published_at|looked_at|started_at|finished_at|updated_at|updated_date|planned_at|counted_at)';
const LEASE_COLUMN = new RegExp(
  String.raw`\b${COLUMNS}\s*(?:=|<=?|>=?)\s*clock_timestamp\(\)|clock_timestamp\(\)\s+as\s+${COLUMNS}\b`,
  'gi',
);
// A test or a demo may look at the real clock: it measures, and owns no row.
const MEASURES = /^(?:demo|e2e|infra)\/|\/(?:test|bench)\//;
const COMMENT = /^\s*(?:\/\/|\/?\*|--).*|\s(?:\/\/|--)\s.*$/;

/**
 * Two clocks, never mixed. Product time (what people call a time) is `app_now()` and nothing else. Process time is
 * `clock_timestamp()`, and only set to or compared with a column of a lease or of bookkeeping. packages/db defines the
 * clocks, so it is left out; what only measures may look at the real clock, but calls no time by it.
 */
export function checkClocks(root: string): Finding {
  const found = ownFiles(root, '{apps,packages,infra,demo,e2e}/**/*.{ts,sql}')
    .filter((path) => !path.startsWith('packages/db/'))
    .flatMap((path) =>
      numberedLines(root, path).flatMap(({ number, text }) => {
        const problem = clockProblem(text.replace(COMMENT, ''), MEASURES.test(path));
        return problem === undefined ? [] : [`${path}:${number} ${problem}`];
      }),
    );
  return { ok: found.length === 0, output: found.join('\n') };
}

function clockProblem(code: string, measures: boolean): string | undefined {
  if (PRODUCT_TIME_BY_HAND.test(code))
    return 'product time is app_now(); no other clock of SQL moves with a test or a demo';
  if (measures) return undefined;
  const uses = code.match(PROCESS_TIME)?.length ?? 0;
  const allowed = code.match(LEASE_COLUMN)?.length ?? 0;
  return uses > allowed
    ? 'clock_timestamp() belongs right behind a lease or bookkeeping column (lease_until < clock_timestamp()); product time is app_now()'
    : undefined;
}
