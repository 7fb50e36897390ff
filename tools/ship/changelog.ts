const HEADING = /^## (\S+)/;
const LONGEST_SENTENCE = 300;

/** What is to be said of a version, and what keeps it from being said. */
export interface ReleaseNotes {
  readonly notes: string;
  /** Empty when the notes can go out. */
  readonly problems: readonly string[];
}

/**
 * The section of a version in a changelog whose sections begin with `## <version>`. Each of its points must be a sentence for the
 * people who run or use Dueline: what they can do now, or must do, not what was committed.
 */
export function releaseNotes(changelog: string, version: string): ReleaseNotes {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => HEADING.exec(line)?.[1] === version);
  if (start < 0) return { notes: '', problems: [`it has no section "## ${version}"`] };
  const length = lines.slice(start + 1).findIndex((line) => HEADING.test(line));
  const section = lines.slice(start + 1, length < 0 ? undefined : start + 1 + length);
  const points = pointsOf(section);
  const problems = points.length === 0 ? [`"## ${version}" says nothing`] : points.flatMap(problemOf);
  return { notes: section.join('\n').trim(), problems };
}

/** The points of a list, each with the lines on which it goes on. */
function pointsOf(section: readonly string[]): string[] {
  const points: string[] = [];
  for (const line of section) {
    if (line.startsWith('- ')) points.push(line.slice(2).trim());
    else if (/^ {2}\S/.test(line) && points.length > 0) points.push(`${points.pop()} ${line.trim()}`);
  }
  return points;
}

function problemOf(point: string): string[] {
  const complaint = (what: string) => [`"${point.slice(0, 60)}" ${what}`];
  if (/^[a-z][\w, /-]*: /.test(point)) return complaint('is a commit, not a sentence for those who use it');
  if (!/^[A-Z`*"]/.test(point) || !/[.!?]\*{0,2}$/.test(point)) return complaint('is not a whole sentence');
  return point.length > LONGEST_SENTENCE ? complaint(`is longer than ${LONGEST_SENTENCE} characters`) : [];
}
