import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '@dueline/kernel';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT, run, serviceEnvironment } from './support.ts';
import { missingLine, readTyped, type Typed } from './typed-pages.ts';

/** How long a reader may have to look again: it bounds a failure only. */
const PATIENCE_MS = 90_000;

/**
 * Tests that type all that these pages say, in this order, on a desk of their own beside a demo.
 *
 * @param options.demo What the demo is started with; its story has been told before anything is typed.
 */
export function testPages(pages: readonly string[], { demo: options = [] }: { demo?: readonly string[] } = {}): void {
  describe(`beside ./dueline ${['demo', ...options].join(' ')}`, () => testOnDesk(pages, options));
}

function testOnDesk(pages: readonly string[], options: readonly string[]): void {
  const desk = mkdtempSync(join(tmpdir(), 'dueline-docs-'));
  const groups: number[] = [];
  let demo: ChildProcess | undefined;
  beforeAll(async () => {
    demo = await startDemo(options);
  });
  afterAll(async () => {
    for (const group of groups) endGroup(group);
    if (demo?.exitCode === null) {
      const gone = once(demo, 'exit');
      demo.kill('SIGINT');
      await gone;
    }
    rmSync(desk, { recursive: true, force: true });
  });

  for (const typed of pages.flatMap(readTyped)) {
    const { place, notRun } = typed;
    if (notRun !== undefined) test.skip(`what ${place} tells to type: ${notRun}`, () => undefined);
    else
      test(`what ${place} tells to type works, and says what the page shows`, () =>
        follow(typed, { folder: desk, demoPid: String(demo?.pid), onStart: (group) => groups.push(group) }));
  }
}

async function startDemo(options: readonly string[]): Promise<ChildProcess> {
  const demo = spawn(join(ROOT, 'dueline'), ['demo', ...options], {
    cwd: ROOT,
    env: { ...serviceEnvironment(), DUELINE_SERVICES: 'environment' }, // those of this test run
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const up = Promise.withResolvers<void>();
  let said = '';
  demo.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.includes('Health and metrics')) up.resolve();
  });
  demo.once('exit', (code) => up.reject(new Error(`the demo ended with ${code}:\n${said}`)));
  await up.promise;
  return demo;
}

/** Where a page is typed: a folder of its own, and the demo that it is about, whatever else runs beside it. */
interface Desk {
  readonly folder: string;
  readonly demoPid: string;
  /** Is told the process group of each shell: what a page starts in the background outlives its shell. */
  readonly onStart: (group: number) => void;
}

/** Ends what a page has left running, because it failed before it came to end it. */
function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Types it into a shell that remembers what was exported, again and again when it only looks. */
async function follow({ script, isLook, shows }: Typed, desk: Desk): Promise<void> {
  const until = performance.now() + (isLook ? PATIENCE_MS : 0);
  for (;;) {
    const { code, stdout, stderr } = await type(script, desk);
    const missing = missingLine(shows, stdout);
    if (code === 0 && missing === undefined) return;
    if (performance.now() >= until) {
      expect({ missing, stdout, stderr, code }).toEqual({ missing: undefined, stdout, stderr, code: 0 });
      throw new Error('unreachable'); // the expectation above fails
    }
    await sleep(250);
  }
}

const type = (script: string, { folder, demoPid, onStart }: Desk) =>
  run('sh', ['-c', `[ -f "$DESK/state" ] && . "$DESK/state"\nset -eu\n${script}\nexport -p >"$DESK/state"`], {
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      DESK: folder,
      DUELINE_DEMO_PID: demoPid,
      LANG: 'C.UTF-8',
    },
    onStart,
  });
