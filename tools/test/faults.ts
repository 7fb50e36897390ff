import { MIGRATION_FAULTS } from './migration-faults.ts';
import type { Plant } from './working-copy.ts';

/** A fault, the check that must catch it, and what the check must say in one place: where, and what. */
export type Fault = { readonly name: string; readonly plants: readonly Plant[]; readonly says: readonly string[] };

const FOLDER = 'packages/kernel/src/planted';

/** A new file of the kernel with this text; the check must name the file and `rule`. */
const file = (name: string, text: string, rule = ''): Fault => {
  const path = `${FOLDER}/${name.replaceAll(' ', '-')}.ts`;
  return { name, plants: [{ path, change: () => text }], says: [path, rule] };
};

const replace = (path: string, from: string | RegExp, to: string): Plant => ({
  path,
  change: (before) => before.replace(from, to),
});

const dependency = (path: string, name: string, version = 'workspace:*'): Plant => ({
  path: `${path}/package.json`,
  change: (before) => {
    const manifest: { dependencies?: Record<string, string> } = JSON.parse(before);
    return JSON.stringify({ ...manifest, dependencies: { ...manifest.dependencies, [name]: version } }, undefined, 2);
  },
});

const lines = (count: number, line: string): string => `${line}\n`.repeat(count);

const RULES: readonly Fault[] = [
  file('floating promise', 'export const start = () => {\n  fetch("x");\n};\n', 'no-floating-promises'),
  file(
    'misused promise',
    'export const again = () => setInterval(async () => fetch("x"), 1);\n',
    'no-misused-promises',
  ),
  file('awaited number', 'export const one = async () => await 1;\n', 'await-thenable'),
  file(
    'forgotten case',
    'export function f(side: "a" | "b"): void {\n  switch (side) {\n    case "a":\n      break;\n  }\n}\n',
    'switch-exhaustiveness-check',
  ),
  file('any', 'export const f = (value: any) => value;\n', 'no-explicit-any'),
  file('non-null assertion', 'export const f = (list: number[]) => list[0]!;\n', 'no-non-null-assertion'),
  file('silenced compiler', '// @ts-ignore\nexport const x: string = 1;\n', 'ban-ts-comment'),
  file('default export', 'export default 1;\n', 'no-default-export'),
  {
    name: 'cycle',
    plants: [
      { path: `${FOLDER}/ring-a.ts`, change: () => "import { b } from './ring-b.ts';\nexport const a = () => b();\n" },
      {
        path: `${FOLDER}/ring-b.ts`,
        change: () => "import { a } from './ring-a.ts';\nexport const b = (): void => a();\n",
      },
    ],
    says: [`${FOLDER}/ring-a.ts`, 'no-cycle'],
  },
  file('process env', 'export const home = process.env.HOME;\n', 'no-process-env'),
  file(
    'env by import',
    "import { env } from 'node:process';\nexport const home = env.HOME;\n",
    'no-restricted-imports',
  ),
  file('deep import', "export { translateError } from '@dueline/db/src/errors.ts';\n", 'no-restricted-imports'),
  file('console', 'console.log(1);\n', 'no-console'),
  file('swallowed error', 'export function f() {\n  try {\n    f();\n  } catch {}\n}\n', 'no-empty'),
  file('long function', `export function f() {\n${lines(60, '  f();')}}\n`, 'max-lines-per-function'),
  file('long file', `let x = 0;\n${lines(300, 'x += 1;')}`, 'max-lines'),
  file('many parameters', 'export const f = (a: 1, b: 1, c: 1, d: 1) => a + b + c + d;\n', 'max-params'),
];

const BOUNDARIES: readonly Fault[] = [
  {
    name: 'domain that depends on the broker',
    plants: [dependency('packages/deliveries', '@dueline/mq')],
    says: ['`@dueline/mq`', '`@dueline/deliveries`'],
  },
  {
    name: 'domain that depends on its sibling',
    plants: [dependency('packages/recipients', '@dueline/trigger-rules')],
    says: ['`@dueline/trigger-rules`', '`@dueline/recipients`'],
  },
  {
    name: 'app that depends on an app',
    plants: [dependency('apps/ops', '@dueline/pg-listener')],
    says: ['`@dueline/pg-listener`', '`@dueline/ops`'],
  },
  {
    name: 'packages in a circle',
    plants: [dependency('packages/contracts', '@dueline/db')],
    says: ['Circular package dependency', '@dueline/contracts', '@dueline/db'],
  },
  file('import of what is not declared', "export { openDatabase } from '@dueline/db';\n", '@dueline/db'),
  file(
    'relative import out of the package',
    "export { z } from '../../../contracts/src/ids.ts';\n",
    'contracts/src/ids.ts',
  ),
];

/** Faults by the check that must catch them. They are planted together, and each must be named. */
export const FAULTS: Readonly<Record<string, readonly Fault[]>> = {
  format: [file('layout', 'export const  x = "1"\n')],
  lint: [file('loose comparison', 'export const f = (x: number) => x == 1;\n', 'noDoubleEquals')],
  rules: RULES,
  types: [
    file('type error', 'export const x: string = 1;\n', 'TS2322'),
    file('enum', 'export enum Side {\n  A,\n}\n', 'TS1294'),
    file('deep import past the exports', "export { translateError } from '@dueline/db/src/errors.ts';\n", 'TS2307'),
  ],
  boundaries: BOUNDARIES,
  unused: [
    file('file that nobody imports', 'export const x = 1;\n'),
    {
      name: 'export that nobody imports',
      plants: [{ path: 'packages/kernel/src/text.ts', change: (before) => `${before}export const planted = 1;\n` }],
      says: ['planted', 'packages/kernel/src/text.ts'],
    },
    {
      name: 'dependency that nobody imports',
      plants: [dependency('packages/contracts', 'pg', 'catalog:')],
      says: ['pg', 'packages/contracts/package.json'],
    },
    {
      name: 'exports that lead to no file',
      plants: [
        replace('packages/kernel/package.json', '"./src/index.ts"', '"./src/index.ts", "./planted": "./src/none.ts"'),
      ],
      says: ['./src/none.ts', 'packages/kernel/package.json'],
    },
  ],
  models: [
    {
      name: 'protocol that does not hold',
      plants: [replace('models/src/delivery.ts', "= { key: 'of the send'", "= { key: 'of the attempt'")],
      says: ['delivery', 'as designed', 'WRONG', 'a person receives it at most once'],
    },
    {
      name: 'variant that does not fail any more',
      plants: [replace('models/src/dispatch.ts', ", release: 'whatever the row is' }", ' }')],
      says: ['dispatch', 'a lost confirm rolls the row back', 'WRONG', 'holds'],
    },
  ],
  versions: [
    {
      name: 'second version of a dependency',
      plants: [dependency('packages/kernel', 'zod', '4.0.0'), dependency('packages/mq', 'zod', '4.0.1')],
      says: ['zod', 'multiple-dependency-versions', 'kernel', '4.0.0'],
    },
  ],
  docs: [
    {
      name: 'configuration page behind its schema',
      plants: [replace('apps/pg-listener/src/config.ts', /describe\('/, "describe('Planted: ")],
      says: ['docs/generated/config.md'],
    },
    {
      name: 'page of the queues behind the contracts',
      plants: [replace('packages/contracts/src/messages.ts', '-> trigger-worker:', '-> planted:')],
      says: ['docs/generated/queues.md'],
    },
    {
      name: 'page of the tables behind the schema',
      plants: [replace('packages/db/src/schema/organization.ts', "text('name').notNull()", "text('name')")],
      says: ['docs/generated/schema.md'],
    },
  ],
  clocks: [
    file(
      'product time by hand',
      'export const q = sql`select * from delivery where deliver_until < now()`;\n',
      'app_now()',
    ),
    file(
      'process time as product time',
      'export const q = sql`set execute_at = clock_timestamp()`;\n',
      'clock_timestamp()',
    ),
  ],
  house: [
    file('export star', "export * from './x.ts';\n", 'export *'),
    file('rule switched off without its name', '// oxlint-disable-next-line\nexport const x = 1;\n', 'say which rule'),
    file('env by index', `export const x = process[${"'env'"}];\n`, 'process.env'),
  ],
  migrations: MIGRATION_FAULTS,
  cases: [
    {
      name: 'case whose test bears another name',
      plants: [replace('packages/campaigns/test/claim.int.test.ts', 'claim each of 100 due', 'claim all of 100 due')],
      says: ['docs/cases.md', 'SEM-082', 'claim each of 100 due'],
    },
    {
      name: 'test whose case is on no page',
      plants: [replace('packages/campaigns/test/start.int.test.ts', '[SEM-125]', '[SEM-125, SEM-999]')],
      says: ['packages/campaigns/test/start.int.test.ts', 'SEM-999'],
    },
    {
      name: 'case that has a test and a reason to have none',
      plants: [{ path: 'docs/cases.md', change: (before) => `${before}| SEM-104 | x | y | nothing |\n` }],
      says: ['docs/cases.md', 'SEM-104', 'a reason to have none'],
    },
  ],
  paths: [
    {
      name: 'path that is gone',
      plants: [
        { path: 'packages/kernel/README.md', change: (before) => `${before}\nSee \`packages/planted/src/x.ts\`.\n` },
      ],
      says: ['packages/kernel/README.md', 'packages/planted/src/x.ts'],
    },
    {
      name: 'place in a page that is gone',
      plants: [
        {
          path: 'packages/kernel/README.md',
          change: (before) => `${before}\n[x](../../docs/events.md#planted-heading)\n`,
        },
      ],
      says: ['packages/kernel/README.md', '#planted-heading', 'docs/events.md'],
    },
    {
      name: 'path inside its package that is gone',
      plants: [{ path: 'packages/runtime/README.md', change: (before) => `${before}\nSee \`src/planted.ts\`.\n` }],
      says: ['packages/runtime/README.md', 'packages/runtime/src/planted.ts'],
    },
    {
      name: 'link to a page that is gone',
      plants: [{ path: 'packages/mq/README.md', change: (before) => `${before}\nSee [more](docs/planted.md).\n` }],
      says: ['packages/mq/README.md', 'packages/mq/docs/planted.md'],
    },
  ],
};
