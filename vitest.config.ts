import { defineConfig } from 'vitest/config';

const folders = '{packages/*,apps/*,infra/helm,infra/local,infra/observability,bench,demo,models,stress}';

/** Long checks run by `.ci/nightly` only. */
const nightly = process.env.DUELINE_NIGHTLY === '1';

export default defineConfig({
  test: {
    passWithNoTests: false,
    // How long one waits for something to become true: it bounds a failure only, also on a machine with other things to do.
    testTimeout: 20_000,
    expect: { poll: { timeout: 15_000 } },
    reporters: ['default', './tools/vitest-total.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [`${folders}/test/**/*.test.ts`],
          exclude: ['**/*.int.test.ts', '**/node_modules/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'int',
          include: [`${folders}/test/**/*.int.test.ts`],
          globalSetup: ['./infra/local/src/vitest-global-setup.ts'],
          isolate: false,
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'verify',
          include: ['tools/test/**/*.test.ts'],
          fileParallelism: false, // each starts programs that use every processor
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: nightly ? ['e2e/test/**/*.nightly.test.ts'] : ['e2e/test/**/*.e2e.test.ts'],
          globalSetup: ['./infra/local/src/vitest-global-setup.ts'],
          maxWorkers: 2, // each file runs a whole product, which mostly waits
          testTimeout: 300_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
