import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Selection, select } from '../ship/select.ts';
import { readPackages } from '../ship/workspace.ts';
import { copyOfSources } from './working-copy.ts';

const ROOT = dirname(dirname(import.meta.dirname));

const APPS = ['campaign-dispatcher', 'cron-scheduler', 'line-delivery', 'ops', 'pg-listener', 'trigger-worker'];
const EVERY_IMAGE = ['campaign-dispatcher', 'cron-scheduler', 'demo', 'line-delivery', 'line-simulator', 'ops'].concat([
  'pg-listener',
  'trigger-worker',
]);
/** They run apps as processes. */
const WALKS = ['bench', 'demo', 'stress'];

const NOTHING: Selection = { tests: [], endToEnd: false, tools: false, images: [], charts: [] };
const everyTest = readPackages(ROOT)
  .map(({ folder }) => folder)
  .filter((folder) => folder !== 'e2e' && folder !== 'tools')
  .toSorted();
const EVERY_TEST = { tests: everyTest, endToEnd: true, tools: true };

const CHANGES: readonly (readonly [string, readonly string[], Partial<Selection>])[] = [
  [
    'an app builds that app only',
    ['apps/pg-listener/src/main.ts'],
    { images: ['pg-listener'], tests: ['apps/pg-listener', ...WALKS], endToEnd: true },
  ],
  [
    'a package builds exactly the apps that need it, over other packages too',
    ['packages/scheduled-actions/src/claim.ts'],
    { images: ['cron-scheduler', 'demo', 'line-delivery', 'ops', 'trigger-worker'], endToEnd: true },
  ],
  ['what every app needs builds every app', ['packages/runtime/src/log.ts'], { images: APPS }],
  [
    'what apps need for their tests only builds none of them, and tests them',
    ['packages/line-simulator/src/simulator.ts'],
    { images: ['demo', 'line-simulator'], tests: expect.arrayContaining(['apps/line-delivery']) },
  ],
  [
    'a test builds nothing',
    ['packages/scheduled-actions/test/claim.int.test.ts'],
    { images: [], tests: expect.arrayContaining(['packages/scheduled-actions']) },
  ],
  ['a page of a package builds and tests nothing', ['packages/scheduled-actions/README.md'], NOTHING],
  ['docs build and test nothing', ['docs/operating.md', 'README.md', 'CHANGELOG.md', 'LICENSE'], NOTHING],
  ['the lockfile reaches everything', ['pnpm-lock.yaml'], { ...EVERY_TEST, images: EVERY_IMAGE }],
  ['a patch reaches everything', ['patches/drizzle-orm@0.45.4.patch'], { ...EVERY_TEST, images: EVERY_IMAGE }],
  ['the versions of the workspace reach everything', ['pnpm-workspace.yaml'], { ...EVERY_TEST, images: EVERY_IMAGE }],
  ['how tests run reaches every test and no image', ['vitest.config.ts', '.ci/run'], { ...EVERY_TEST, images: [] }],
  ['the settings of a linter reach nothing but the checks', ['biome.json', 'knip.json', '.oxlintrc.json'], NOTHING],
  [
    'the Dockerfile builds every image, and walks through their folders',
    ['infra/docker/service.Dockerfile'],
    { ...NOTHING, images: EVERY_IMAGE, endToEnd: true },
  ],
  ['the steps of the Dockerfile do too', ['infra/docker/build-folder.sh'], { images: EVERY_IMAGE, endToEnd: true }],
  ['what only docker compose reads builds nothing', ['infra/docker/observability/prometheus.yml'], { images: [] }],
  ['docker-compose.yml has its starter tested', ['docker-compose.yml'], { images: [], endToEnd: true }],
  ['a workflow has itself tested', ['.github/workflows/ci.yml'], { ...NOTHING, tools: true }],
  [
    'a deleted file reaches as far as a changed one',
    ['packages/scheduled-actions/src/gone.ts'],
    { images: ['cron-scheduler', 'demo', 'line-delivery', 'ops', 'trigger-worker'] },
  ],
  [
    'a file that moves between packages reaches the dependents of both',
    ['packages/scheduled-cycles/src/a.ts', 'packages/link-tracking/src/a.ts'],
    { images: ['cron-scheduler', 'demo', 'ops', 'trigger-worker'] },
  ],
  ['a package that is gone reaches everything', ['packages/gone/src/index.ts'], { images: EVERY_IMAGE }],
  ['a file that nobody described reaches everything', ['surprise.txt'], { ...EVERY_TEST, images: EVERY_IMAGE }],
  ['no change reaches nothing', [], NOTHING],
];

test.each(CHANGES)('%s', (_, paths, expected) => {
  expect(select(ROOT, paths)).toMatchObject(expected);
});

describe('in a repository', () => {
  const copy = copyOfSources();
  afterAll(() => copy[Symbol.dispose]());
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: copy.folder, encoding: 'utf8' });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(copy.folder, path)), { recursive: true });
    writeFileSync(join(copy.folder, path), text);
  };
  const commit = () => {
    git('add', '--all');
    git('commit', '--quiet', '--message=change');
  };
  const affected = (): Selection => {
    const args = ['tools/affected.ts', '--root', copy.folder, '--base', 'HEAD~1'];
    return JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })) as Selection;
  };

  beforeAll(() => {
    for (const chart of ['charts/sample-listener', 'charts/sample-ops'])
      write(
        `infra/helm/${chart}/Chart.yaml`,
        `name: ${chart.slice(7)}\ndependencies:\n  - { name: sample-library, repository: 'file://../../sample-library' }\n`,
      );
    write('infra/helm/sample-library/Chart.yaml', 'name: sample-library\ntype: library\n');
    git('init', '--quiet');
    commit();
  });

  test.each([
    ['packages/scheduled-actions', 'packages/scheduled-actions/src/index.ts'],
    ['packages/line-client', 'packages/line-client/src/index.ts'],
    ['packages/contracts', 'packages/contracts/src/index.ts'],
    ['apps/pg-listener', 'apps/pg-listener/src/main.ts'],
  ])('a change in %s reaches all that turbo finds, and builds nothing else', (_, path) => {
    write(path, `${readFileSync(join(copy.folder, path), 'utf8')}// changed\n`);
    commit();

    const args = ['ls', '--affected', '--output=json'];
    const env = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      TURBO_SCM_BASE: 'HEAD~1',
      TURBO_SCM_HEAD: 'HEAD',
      TURBO_TELEMETRY_DISABLED: '1',
    };
    const said = execFileSync(join(ROOT, 'node_modules/.bin/turbo'), args, { cwd: copy.folder, env, encoding: 'utf8' });
    const { packages } = z
      .object({ packages: z.object({ items: z.array(z.object({ name: z.string(), path: z.string() })) }) })
      .parse(JSON.parse(said.slice(said.indexOf('{'))));
    const { tests, endToEnd, tools, images } = affected();
    const tested = [...tests, ...(endToEnd ? ['e2e'] : []), ...(tools ? ['tools'] : [])];

    expect(tested).toEqual(expect.arrayContaining(packages.items.map((one) => one.path)));
    const builtOfThem = packages.items.map(({ name }) => name.replace('@dueline/', ''));
    expect(images.filter((app) => !builtOfThem.includes(app))).toEqual([]);
  });

  test('a chart packages itself, the library of charts all that use it, and neither builds an image', () => {
    write('infra/helm/charts/sample-listener/values.yaml', 'replicas: 2\n');
    commit();
    expect(affected()).toMatchObject({ ...NOTHING, charts: ['infra/helm/charts/sample-listener'] });

    write('infra/helm/sample-library/templates/_labels.tpl', '# changed\n');
    commit();
    expect(affected().charts).toEqual([
      'infra/helm/charts/sample-listener',
      'infra/helm/charts/sample-ops',
      'infra/helm/sample-library',
    ]);
  });

  test('a rename between packages reaches the dependents of both, a deletion those of the one', () => {
    const [from, to] = ['packages/rich-menus/src/sample.ts', 'packages/accounts/src/sample.ts'];
    write(from, 'export const sample = 1;\n');
    commit();
    renameSync(join(copy.folder, from), join(copy.folder, to));
    commit();
    expect(affected().tests).toEqual(expect.arrayContaining(['packages/rich-menus', 'packages/accounts']));

    rmSync(join(copy.folder, to));
    commit();
    const { images, tests } = affected();
    expect(images).toEqual(['demo', 'line-delivery', 'ops', 'trigger-worker']);
    expect(tests).not.toContain('packages/rich-menus');
  });

  test('a path with spaces and other letters is read as it is', () => {
    write('docs/ein Maß für alles.md', '# x\n');
    commit();
    expect(affected()).toMatchObject(NOTHING);
  });
});
