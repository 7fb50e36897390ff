import type { Reporter, TestModule } from 'vitest/node';

/** Closes the run with one plain line, `N passed, N failed, N skipped`, counted from what really ran. */
export default class Total implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      count.passed += states.filter((state) => state === 'passed').length;
      count.skipped += states.filter((state) => state === 'skipped' || state === 'pending').length;
      const failed = states.filter((state) => state === 'failed').length;
      count.failed += failed === 0 && !module.ok() ? 1 : failed; // a module that failed to load has no failed test
    }
    process.once('exit', () => console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`));
  }
}
