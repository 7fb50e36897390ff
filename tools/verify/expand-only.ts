import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { ownFiles } from './files.ts';
import type { Finding } from './tool.ts';

const FOLDER = 'packages/db/migrations';

/** What is kept of a release, as far as it matters here. */
interface Release {
  readonly version: string;
  readonly migrations: readonly { readonly name: string; readonly sha256: string }[];
}

/** `-- contract after 0.1.0: why`, as the first line of a file: no process of that release or of one before may run any more. */
const CONTRACT = /^-- contract after (\d+\.\d+\.\d+): \S/;

interface Rule {
  readonly pattern: RegExp;
  readonly problem: string;
  /** Why one match is fine all the same. */
  readonly unless?: (match: RegExpExecArray, context: { readonly text: string; readonly released: string }) => boolean;
}

const name = String.raw`(?:if exists )?(?:public\.)?"?(\w+)"?`;
const escaped = (text: string | undefined): string => (text ?? '').replaceAll(/\W/g, '');

/** What a process of the release before would trip over. */
const RULES: readonly Rule[] = [
  {
    pattern: /\bdrop (?:table|view|type|sequence|function|procedure|schema)\b/,
    problem: 'drops what the release before may use',
  },
  {
    pattern: /\balter table [^;]*?(?<!\balter (?:column )?"?\w+"? )\bdrop (?!constraint\b)/,
    problem: 'drops a column that the release before may read or write',
  },
  { pattern: /\brename\b/, problem: 'renames what the release before knows by its name' },
  {
    pattern: /\balter (?:column )?"?\w+"? (?:set data )?type\b/,
    problem: 'changes the type of a column, and rewrites the table',
  },
  { pattern: /\bset not null\b/, problem: 'makes a column mandatory that the release before may leave out' },
  {
    pattern: /\badd (?:column )?(?:if not exists )?"?\w+"? [^,;]*?\bnot null\b[^,;]*/,
    problem: 'adds a mandatory column without a default, which the release before leaves out',
    unless: ([text]) => /\bdefault\b|\bgenerated\b|^add constraint\b/.test(text),
  },
  {
    pattern: new RegExp(String.raw`\bdrop constraint ${name}`),
    problem: 'drops a constraint and adds none of that name: replace it by a wider one',
    unless: ([, constraint], { text }) =>
      new RegExp(String.raw`\badd constraint "?${escaped(constraint)}\b`).test(text),
  },
  {
    pattern: new RegExp(String.raw`\bdrop index (?:concurrently )?${name}`),
    problem: 'drops a unique index that the release before may name in ON CONFLICT',
    unless: ([, index], { released }) =>
      !new RegExp(String.raw`\bcreate unique index "?${escaped(index)}\b`).test(released),
  },
];

/**
 * From a release on migrations are appended, never edited, and each can be run while processes of the newest kept release are at
 * work. What takes something away from them says after which release it may, and is refused until a later one is kept.
 */
export function checkMigrations(root: string): Finding {
  const releases = ownFiles(root, 'e2e/fixtures/release-*/release.json')
    .map((path) => JSON.parse(readFileSync(join(root, path), 'utf8')) as Release)
    .sort((one, other) => compare(one.version, other.version));
  const newest = releases.at(-1);
  if (newest === undefined) return { ok: false, output: 'e2e/fixtures keeps no release' };
  const files = new Map(
    ownFiles(root, `${FOLDER}/*.sql`).map((path) => [basename(path), readFileSync(join(root, path), 'utf8')]),
  );
  const known = new Set(newest.migrations.map((migration) => migration.name));
  const released = [...files].filter(([file]) => known.has(file)).map(([, text]) => normalize(text));
  const found = [
    ...newest.migrations.flatMap((migration) => changed(migration, files.get(migration.name), newest.version)),
    ...[...files].flatMap(([file, text]) => {
      if (known.has(file)) return [];
      return problemsOf(text, { newest: newest.version, released: released.join(';') }).map(
        (problem) => `${FOLDER}/${file} ${problem}`,
      );
    }),
  ];
  return { ok: found.length === 0, output: found.join('\n') };
}

function changed(
  { name: file, sha256 }: Release['migrations'][number],
  text: string | undefined,
  version: string,
): string[] {
  if (text === undefined) return [`${FOLDER}/${file} was released with ${version} and is gone`];
  if (createHash('sha256').update(text).digest('hex') === sha256) return [];
  return [`${FOLDER}/${file} was released with ${version} and is changed: write another migration`];
}

function problemsOf(text: string, { newest, released }: { newest: string; released: string }): string[] {
  const [, after] = CONTRACT.exec(text) ?? [];
  if (after !== undefined) {
    if (compare(newest, after) > 0) return [];
    return [`takes away what ${after} uses: keep a later release first (docs/upgrading.md)`];
  }
  const plain = normalize(text);
  return RULES.flatMap(({ pattern, problem, unless }) =>
    [...plain.matchAll(new RegExp(pattern, 'g'))]
      .filter((match) => unless?.(match as RegExpExecArray, { text: plain, released }) !== true)
      .map(([statement]) => `"${statement.slice(-60)}": ${problem}`),
  );
}

/** Small letters and single spaces, without comments, texts, and the bodies of functions, which are not run by the migration. */
function normalize(text: string): string {
  return text
    .replaceAll(/--.*$/gm, ' ')
    .replaceAll(/\/\*[\s\S]*?\*\//g, ' ')
    .replaceAll(
      /\bcreate\s+(?:or\s+replace\s+)?(?:function|procedure)\b[\s\S]*?(\$\w*\$)[\s\S]*?\1/gi,
      'create function x $$$$',
    )
    .toLowerCase()
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\s+/g, ' ');
}

function compare(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
