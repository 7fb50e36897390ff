import { reachOf } from './reach.ts';
import { dependents, readCharts, readPackages, type Unit } from './workspace.ts';

/** What a change has CI do. Lists are in order and without doubles. */
export interface Selection {
  /** Folders of packages whose tests a change can turn. */
  readonly tests: readonly string[];
  /** Whether the product is walked through as a whole. */
  readonly endToEnd: boolean;
  /** Whether the rules of the house and the tools are tested too; `./dueline verify` itself always runs. */
  readonly tools: boolean;
  /** Apps whose images differ, by the APP that infra/docker/service.Dockerfile takes. */
  readonly images: readonly string[];
  /** Folders of charts that differ. */
  readonly charts: readonly string[];
}

const SCOPE = '@dueline/';

/** What runs the apps as processes or reads their sources by path, which no package.json may say: nothing depends on an app. */
const RUN_THE_APPS = new Set([`${SCOPE}demo`, `${SCOPE}tools`]);

/** Packages besides the apps that have an image: the stage of the demo in docker-compose.yml. */
const OTHER_IMAGES = new Set([`${SCOPE}line-simulator`, `${SCOPE}demo`]);

const isApp = ({ folder }: Unit): boolean => folder.startsWith('apps/');
const hasImage = (unit: Unit): boolean => isApp(unit) || OTHER_IMAGES.has(unit.name);

/**
 * What a change of these paths (from the root, deleted ones too, of a rename both) can reach in the workspace below `root`.
 *
 * A package reaches those that need it; what only tests need reaches tests, never images.
 */
export function select(root: string, paths: readonly string[]): Selection {
  const units = { packages: readPackages(root), charts: readCharts(root) };
  const reaches = paths.map((path) => reachOf(path, units));
  const has = (...kinds: readonly string[]) => reaches.some(({ kind }) => kinds.includes(kind));
  const named = (...kinds: readonly string[]) =>
    new Set(reaches.flatMap((reach) => ('of' in reach && kinds.includes(reach.kind) ? [reach.of] : [])));

  const apps = units.packages.filter(isApp).map(({ name }) => name);
  const tested = dependents(units.packages, named('package', 'tests'), (unit) => [
    ...unit.needs,
    ...unit.needsForTests,
    ...(RUN_THE_APPS.has(unit.name) ? apps : []),
  ]);
  const running = dependents(units.packages, named('package'), ({ needs }) => needs);
  const packaged = dependents(units.charts, named('chart'), ({ needs }) => needs);

  const all = has('everything', 'every test');
  const isTested = ({ name }: Unit) => all || tested.has(name);
  const isBuilt = ({ name }: Unit) => has('everything', 'every image') || running.has(name);
  const withTests = units.packages.filter(isTested).map(({ folder }) => folder);
  return {
    tests: withTests.filter((folder) => folder !== 'e2e' && folder !== 'tools').toSorted(),
    endToEnd: withTests.includes('e2e') || has('every image'),
    tools: withTests.includes('tools'),
    images: units.packages
      .filter((unit) => hasImage(unit) && isBuilt(unit))
      .map(({ name }) => name.slice(SCOPE.length))
      .toSorted(),
    charts: units.charts
      .filter(({ name }) => has('everything') || packaged.has(name))
      .map(({ folder }) => folder)
      .toSorted(),
  };
}
