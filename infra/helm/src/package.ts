import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '@dueline/kernel';
import { CHARTS_FOLDER, MIGRATE_CHART, SERVICE_CHARTS, UMBRELLA_CHART } from './charts.ts';
import { run } from './run.ts';

/** Every chart that can be installed; the umbrella last, because it holds the others. */
export const CHARTS: readonly string[] = [MIGRATE_CHART, ...SERVICE_CHARTS.map(({ name }) => name), UMBRELLA_CHART];

export type PackageOptions = {
  readonly root: string;
  readonly helm: string;
  /** Folder of the packages; made when it is not there. */
  readonly to: string;
  /** Version of every chart and of the images that they name; what their Chart.yaml says when undefined. */
  readonly version?: string | undefined;
};

/**
 * Packages every chart with what it depends on, from a copy, so that the sources stay as they are.
 *
 * @returns The path of each package, by the name of its chart.
 * @throws ServiceError when helm refuses one.
 */
export async function packageCharts({ root, helm, to, version }: PackageOptions): Promise<Map<string, string>> {
  mkdirSync(to, { recursive: true });
  const copy = mkdtempSync(join(tmpdir(), 'dueline-charts-'));
  try {
    cpSync(join(root, CHARTS_FOLDER), copy, { recursive: true });
    if (version !== undefined) setVersion(copy, version);
    const packages = new Map<string, string>();
    for (const name of CHARTS) {
      const command = [helm, 'package', '--dependency-update', '--destination', to, name];
      const { ok, stdout, stderr } = await run(command, { cwd: copy, env: helmHome(copy) });
      const path = /saved it to: (.+)/.exec(stdout)?.[1];
      if (!ok || path === undefined) throw new ServiceError(`helm does not package ${name}: ${stderr}`);
      packages.set(name, path);
    }
    return packages;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** In every Chart.yaml, also of what a chart depends on: they are released together. */
function setVersion(folder: string, version: string): void {
  for (const path of globSync('*/Chart.yaml', { cwd: folder })) {
    const text = readFileSync(join(folder, path), 'utf8');
    writeFileSync(join(folder, path), text.replace(/^( *(?:app)?version: ).*$/gim, `$1${version}`));
  }
}

/** So that helm neither reads nor writes what belongs to the person who runs this. */
export const helmHome = (folder: string): Record<string, string> => ({
  HELM_CACHE_HOME: join(folder, '.helm/cache'),
  HELM_CONFIG_HOME: join(folder, '.helm/config'),
  HELM_DATA_HOME: join(folder, '.helm/data'),
  KUBECONFIG: join(folder, '.helm/kubeconfig'),
});
