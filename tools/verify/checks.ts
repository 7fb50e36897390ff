import { checkCases } from './cases.ts';
import { checkClocks } from './clock-rule.ts';
import { checkDocPaths } from './doc-paths.ts';
import { checkMigrations } from './expand-only.ts';
import { checkHouseRules } from './house-rules.ts';
import { type Finding, runTool } from './tool.ts';

/** One line of `./dueline verify`. */
export type Check = {
  readonly name: string;
  /** What a person learns from `--list`. */
  readonly about: string;
  readonly run: (root: string) => Finding | Promise<Finding>;
};

const tool = (name: string, about: string, command: readonly string[]): Check => ({
  name,
  about,
  run: (root) => runTool(root, command),
});

/** Every check, the slowest first, so that two processors end at about the same time. */
export const CHECKS: readonly Check[] = [
  tool('rules', 'oxlint with types: promises, cycles, process.env, sizes, any, !, default exports', [
    'oxlint',
    '--format=unix',
    '--deny-warnings',
    '--report-unused-disable-directives',
  ]),
  tool('models', 'the protocols hold in every interleaving, and their unsound variants do not', ['models/src/main.ts']),
  tool('types', 'one tsc over everything', ['tsc', '-p', '.', '--pretty', 'false']),
  tool('unused', 'knip: exports, files and dependencies that nobody uses', [
    'knip',
    '--no-progress',
    '--treat-config-hints-as-errors',
  ]),
  tool('docs', 'docs/generated, schemas and READMEs of the charts are what ./dueline docs writes', [
    'tools/docs.ts',
    '--check',
  ]),
  tool('format', 'biome: layout and order of imports', [
    'biome',
    'check',
    '--linter-enabled=false',
    '--colors=off',
    '.',
  ]),
  tool('lint', 'biome: its recommended rules', ['biome', 'lint', '--error-on-warnings', '--colors=off', '.']),
  tool('boundaries', 'turbo: who may import whom; nothing leaves its package by a relative path', [
    'turbo',
    'boundaries',
    '--no-color',
  ]),
  tool('versions', 'sherif: the same dependency in the same version everywhere', ['sherif']),
  { name: 'clocks', about: 'app_now() is the only product time in SQL', run: checkClocks },
  { name: 'house', about: 'small rules that no linter has', run: checkHouseRules },
  {
    name: 'migrations',
    about: 'what was released is as it was; what is new takes nothing from processes of the release before',
    run: checkMigrations,
  },
  { name: 'cases', about: 'docs/cases.md and the names of tests name the same cases', run: checkCases },
  { name: 'paths', about: 'every path that a page of ours names exists', run: checkDocPaths },
];
