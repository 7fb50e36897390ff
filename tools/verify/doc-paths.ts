import { existsSync, globSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { hasAnchor } from './anchors.ts';
import { numberedLines, ownFiles } from './files.ts';
import type { Finding } from './tool.ts';

const NOT_COMMITTED = new Set(['node_modules', '.git', '.turbo', '.dueline']);
const LINK = /\]\(([^)\s]+)\)/g;
const CODE_SPAN = /`([^`]+)`/g;
// Relative to the folder of a package's README; anywhere else such a word is no path.
const IN_PACKAGE = /^(?:src|test|bench|migrations)\//;

/**
 * Every path that a page names exists: relative links, and words in code (spans and fences) that begin with a
 * folder of the root or, in the README of a package, with a folder of that package. Globs must match something. Where a link names a
 * place in a page of ours (`#…`), the page has a heading for it.
 */
export function checkDocPaths(root: string): Finding {
  const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const roots = new Set(folders.map(({ name }) => name).filter((name) => !NOT_COMMITTED.has(name)));
  const found = ownFiles(root, '{*.md,{docs,apps,packages,infra,bench,demo,e2e,models,stress,tools}/**/*.md}').flatMap(
    (page) =>
      namedPaths(root, page, roots)
        .filter(({ path, anchor }) => !exists(root, path) || !leadsSomewhere(root, path, anchor))
        .map(({ number, path, anchor }) =>
          exists(root, path)
            ? `${page}:${number} names #${anchor}, for which ${path} has no heading`
            : `${page}:${number} names ${path}, which does not exist`,
        ),
  );
  return { ok: found.length === 0, output: found.join('\n') };
}

/** A path that a page names, from the root, and the place in it that a link leads to. */
interface Named {
  readonly path: string;
  readonly anchor?: string | undefined;
}

function leadsSomewhere(root: string, path: string, anchor: string | undefined): boolean {
  return anchor === undefined || !path.endsWith('.md') || hasAnchor(root, path, anchor);
}

function namedPaths(root: string, page: string, roots: ReadonlySet<string>): (Named & { number: number })[] {
  const folder = dirname(page);
  const home = folder !== '.' && existsSync(join(root, folder, 'package.json')) ? folder : undefined;
  let fenced = false;
  return numberedLines(root, page).flatMap(({ number, text }) => {
    if (text.trimStart().startsWith('```')) {
      fenced = !fenced;
      return [];
    }
    const code = fenced ? [text] : [...text.matchAll(CODE_SPAN)].map(([, span = '']) => span);
    const links = fenced ? [] : [...text.replace(CODE_SPAN, '').matchAll(LINK)].map(([, target = '']) => target);
    return [
      ...code.flatMap((span) => span.split(/\s+/)).flatMap((word) => pathOfWord(word, home, roots)),
      ...links.flatMap((target) => pathOfLink(target, page)),
    ].map((named) => ({ number, ...named }));
  });
}

function pathOfWord(word: string, home: string | undefined, roots: ReadonlySet<string>): Named[] {
  const path = word
    .replace(/^["'(]+/, '')
    .replace(/[)"',;.]+$/, '')
    .replace(/:\d+$/, '')
    .replace(/^\.\//, '');
  if (/[<>$…|=]/.test(path)) return []; // a placeholder, not a path
  if (home !== undefined && IN_PACKAGE.test(path)) return [{ path: join(home, path) }];
  const first = path.split('/', 1)[0] ?? '';
  return path.includes('/') && (roots.has(first) || LAYOUT.has(first)) ? [{ path }] : [];
}

// Folders a page may promise: named here so that a page is wrong, too, when the whole folder is missing.
const LAYOUT = new Set([
  'apps',
  'packages',
  'infra',
  'demo',
  'e2e',
  'models',
  'stress',
  'bench',
  'tools',
  'docs',
  'patches',
  '.ci',
]);

function pathOfLink(target: string, page: string): Named[] {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
  const [path = '', anchor] = target.split('#', 2);
  if (path === '') return [{ path: page, anchor }];
  return [{ path: normalize(join(path.startsWith('/') ? '.' : dirname(page), decodeURI(path))), anchor }];
}

function exists(root: string, path: string): boolean {
  return /[*{]/.test(path) ? globSync(path, { cwd: root }).length > 0 : existsSync(join(root, path));
}
