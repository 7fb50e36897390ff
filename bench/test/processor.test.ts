import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { meterProcessors } from '../src/measure/processor.ts';

const BUSY =
  "const end = Date.now() + 600; while (Date.now() < end); process.stdout.write('done'); process.stdin.resume()";

test.skipIf(!existsSync('/proc/stat'))(
  'the time of a group is that of its processes and of those that came from them',
  async () => {
    const script = `const { spawnSync } = require('node:child_process'); spawnSync(process.execPath, ['-e', ${JSON.stringify(BUSY)}], { input: '' }); ${BUSY}`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    const use = meterProcessors({ busy: () => [child.pid ?? 0], idle: () => [] });
    await once(child.stdout, 'data');
    const { seconds, wallSeconds } = use();
    child.stdin.end();
    expect(seconds.busy).toBeGreaterThan(0.2); // of 1.2 s, on a machine that may be shared
    expect(seconds.busy).toBeLessThan(wallSeconds * 2);
    expect(seconds.idle).toBe(0);
  },
);
