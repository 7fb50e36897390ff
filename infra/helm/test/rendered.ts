import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { chunk } from '@dueline/kernel';
import { parse, stringify } from 'yaml';
import { UMBRELLA_CHART } from '../src/charts.ts';
import { CHARTS, helmHome, packageCharts } from '../src/package.ts';
import { type Ran, run } from '../src/run.ts';
import type { Tools } from '../src/tools.ts';
import { type Manifest, readManifests } from './manifest.ts';

export const ROOT = dirname(dirname(dirname(import.meta.dirname)));
/** Names of the value sets in infra/helm/ci. */
export const SETS = globSync('infra/helm/ci/*.yaml', { cwd: ROOT })
  .map((path) => basename(path, '.yaml'))
  .toSorted();

const NAMESPACE = 'messaging';
/** The oldest that the charts say they run on; our helm was built without one. */
const KUBERNETES = '1.29.0';
/** helm is one process per call, and there are two processors. */
const AT_ONCE = 2;

export type Rendered = {
  readonly chart: string;
  readonly set: string;
  readonly path: string;
  readonly manifests: readonly Manifest[];
  /** What `helm lint --strict` says of the chart with these values. */
  readonly lint: Ran;
};

export type Workbench = Disposable & {
  readonly rendered: readonly Rendered[];
  /** Renders a chart with further values, given as YAML. */
  template(chart: string, values: string): Promise<Ran>;
  /** Whether these files are manifests that Kubernetes takes. */
  validate(paths: readonly string[]): Promise<Ran>;
  /** Packages every chart in another version; what the umbrella then renders. */
  released(version: string): Promise<Ran>;
  /** A file with this text, for validate. */
  file(name: string, text: string): string;
};

/** Packages every chart, and renders and lints it with each value set. */
export async function openWorkbench({ helm, validate }: Tools): Promise<Workbench> {
  const folder = mkdtempSync(join(tmpdir(), 'dueline-helm-'));
  const packages = await packageCharts({ root: ROOT, helm, to: join(folder, 'packages') });
  const options = { cwd: folder, env: helmHome(folder) };
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  const withHelm = (command: string, chart: string, values: string) =>
    run(
      [
        helm,
        ...commandOf(command, chart, packages.get(chart) ?? chart),
        '--values',
        values,
        '--kube-version',
        KUBERNETES,
      ],
      options,
    );

  const rendered: Rendered[] = [];
  const all = CHARTS.flatMap((chart) => SETS.map((set) => ({ chart, set })));
  for (const some of chunk(all, AT_ONCE)) {
    const done = await Promise.all(
      some.map(async ({ chart, set }): Promise<Rendered> => {
        const values = file(`${chart}/${set}.values.yaml`, valuesOf(chart, set));
        const lint = await withHelm('lint', chart, values);
        const { ok, stdout, stderr } = await withHelm('template', chart, values);
        if (!ok) throw new Error(`${chart} with ${set}: ${stderr}`);
        return { chart, set, path: file(`${chart}/${set}.yaml`, stdout), manifests: readManifests(stdout), lint };
      }),
    );
    rendered.push(...done);
  }
  return {
    rendered,
    template: (chart, values) => withHelm('template', chart, file(`${chart}/more.values.yaml`, values)),
    validate: (paths) => run([validate, ...paths], options),
    released: async (version) => {
      const released = await packageCharts({ root: ROOT, helm, to: join(folder, version), version });
      return run(
        [
          helm,
          ...commandOf('template', UMBRELLA_CHART, released.get(UMBRELLA_CHART) ?? ''),
          '--kube-version',
          KUBERNETES,
        ],
        options,
      );
    },
    file,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const commandOf = (command: string, chart: string, path: string): string[] =>
  command === 'lint' ? ['lint', '--strict', path] : ['template', chart, path, '--namespace', NAMESPACE];

/** The sets are values of the umbrella; a chart alone takes what stands below its name, and what is global. */
function valuesOf(chart: string, set: string): string {
  const text = readFileSync(join(ROOT, 'infra/helm/ci', `${set}.yaml`), 'utf8');
  const values = (parse(text, { merge: true }) ?? {}) as Record<string, object>;
  if (chart === UMBRELLA_CHART) return stringify(values, { aliasDuplicateObjects: false });
  const { global } = values;
  const own = { ...values[chart], ...(global === undefined ? {} : { global }) };
  return stringify(own, { aliasDuplicateObjects: false });
}
