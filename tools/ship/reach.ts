import type { Unit } from './workspace.ts';

/** What a changed file can reach at most. */
export type Reach =
  /** Nobody but people and `./dueline verify` reads it. */
  | { readonly kind: 'checks' }
  /** The tests of a package and of those that need it; no running app differs. */
  | { readonly kind: 'tests'; readonly of: string }
  /** A package as it runs, and all that need it. */
  | { readonly kind: 'package'; readonly of: string }
  | { readonly kind: 'chart'; readonly of: string }
  /** How tests are run. */
  | { readonly kind: 'every test' }
  /** How images are made. */
  | { readonly kind: 'every image' }
  /** Packages from outside, or a file that nobody described here. */
  | { readonly kind: 'everything' };

/** Files of no package, the first that fits; what fits none reaches everything, so that a forgotten file costs time, not safety. */
const ROOT_FILES: readonly (readonly [RegExp, Reach])[] = [
  [/^(?:docs\/|[^/]+\.md$|LICENSE$|\.gitignore$)/, { kind: 'checks' }],
  [/^(?:biome\.json|knip\.json|\.oxlintrc\.json)$/, { kind: 'checks' }],
  [/^\.github\//, { kind: 'tests', of: '@dueline/tools' }],
  [/^docker-compose\.yml$/, { kind: 'tests', of: '@dueline/local-services' }],
  [/^infra\/docker\/(?:service\.Dockerfile|build-folder\.sh)/, { kind: 'every image' }],
  [/^infra\/docker\//, { kind: 'tests', of: '@dueline/tools' }],
  [/^infra\/helm\/[^/]+\.md$/, { kind: 'checks' }],
  [/^(?:turbo\.json|tsconfig\.json|vitest\.config\.ts|dueline)$|^\.ci\//, { kind: 'every test' }],
];

const inFolder = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);

/** The unit whose folder holds the path most closely. */
const holderOf = (path: string, units: readonly Unit[]): Unit | undefined =>
  units.filter(({ folder }) => inFolder(path, folder)).toSorted((a, b) => b.folder.length - a.folder.length)[0];

/** What one changed path reaches, also when there is no such file any more. */
export function reachOf(path: string, { packages, charts }: { packages: Unit[]; charts: Unit[] }): Reach {
  const chart = holderOf(path, charts);
  if (chart !== undefined) return { kind: 'chart', of: chart.name };
  const holder = holderOf(path, packages);
  if (holder !== undefined) {
    const inside = path.slice(holder.folder.length + 1);
    if (/^[^/]+\.md$/.test(inside)) return { kind: 'checks' };
    return { kind: /^(?:test|bench)\//.test(inside) ? 'tests' : 'package', of: holder.name };
  }
  return ROOT_FILES.find(([pattern]) => pattern.test(path))?.[1] ?? { kind: 'everything' };
}
