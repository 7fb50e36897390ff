import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ownFiles } from '../verify/files.ts';

/** A package of this workspace, or a chart: something that changes when files below its folder do. */
export interface Unit {
  readonly name: string;
  /** From the root, with slashes and without one at its end. */
  readonly folder: string;
  /** Names of the units that it needs when it runs. */
  readonly needs: readonly string[];
  /** Names of those that only its tests need. */
  readonly needsForTests: readonly string[];
}

const manifest = z.object({
  name: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

/** The packages of the workspace below `root`. */
export function readPackages(root: string): Unit[] {
  const ours = (dependencies: Readonly<Record<string, string>>): string[] =>
    Object.entries(dependencies).flatMap(([name, version]) => (version.startsWith('workspace:') ? [name] : []));
  return ownFiles(root, '*{,/*}/package.json').map((path) => {
    const { name, dependencies, devDependencies } = manifest.parse(JSON.parse(readFileSync(join(root, path), 'utf8')));
    return { name, folder: dirname(path), needs: ours(dependencies), needsForTests: ours(devDependencies) };
  });
}

const chart = z.object({
  name: z.string(),
  dependencies: z.array(z.object({ name: z.string(), repository: z.string().optional() })).default([]),
});

/** The Helm charts below `root`; a chart needs those that it takes from a folder. */
export function readCharts(root: string): Unit[] {
  return ownFiles(root, 'infra/helm/**/Chart.yaml').map((path) => {
    const { name, dependencies } = chart.parse(parse(readFileSync(join(root, path), 'utf8')));
    const needs = dependencies.filter(({ repository }) => repository?.startsWith('file://')).map((one) => one.name);
    return { name, folder: dirname(path), needs, needsForTests: [] };
  });
}

/** Units for which `from` holds, and all that need one of them, over any number of steps. */
export function dependents(
  units: readonly Unit[],
  from: ReadonlySet<string>,
  needsOf: (unit: Unit) => readonly string[],
): Set<string> {
  const reached = new Set(from);
  for (let grown = -1; grown !== reached.size; ) {
    grown = reached.size;
    for (const unit of units) if (needsOf(unit).some((need) => reached.has(need))) reached.add(unit.name);
  }
  return reached;
}
