import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const HEADING = /^#{1,6}\s+(.+?)\s*#*$/;
const EXPLICIT = /<a\s+(?:id|name)="([^"]+)"/g;
/** What GitHub keeps of a heading: letters, digits and marks of any script, `_`, `-` and spaces. */
const DROPPED = /[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu;

const known = new Map<string, ReadonlySet<string>>();

/** Whether a page of ours has a heading, or a named place, that GitHub shows under this anchor. */
export function hasAnchor(root: string, page: string, anchor: string): boolean {
  const file = join(root, page);
  if (!existsSync(file)) return true; // that it is missing is found elsewhere
  const anchors = known.get(file) ?? anchorsOf(readFileSync(file, 'utf8'));
  known.set(file, anchors);
  return anchors.has(anchor);
}

/** Pure. Of headings that read alike the second has `-1` behind it, and so on. */
function anchorsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const seen = new Map<string, number>();
  let fenced = false;
  for (const line of text.split('\n')) {
    if (line.trimStart().startsWith('```')) fenced = !fenced;
    if (fenced) continue;
    for (const [, name = ''] of line.matchAll(EXPLICIT)) anchors.add(name);
    const [, heading] = HEADING.exec(line) ?? [];
    if (heading === undefined) continue;
    const slug = slugOf(heading);
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  return anchors;
}

const slugOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(DROPPED, '')
    .replaceAll(' ', '-');
