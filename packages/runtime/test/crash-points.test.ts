import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { CRASH_AT_PATTERN, CRASH_POINTS, createCrashPoints, createLog } from '../src/index.ts';

const runtime = new URL('../src/index.ts', import.meta.url).href;

/** Reaches `send.started` three times in a process of its own, with a callback waiting; says what it printed and how it ended. */
async function reachThrice(at: string) {
  const script = `import { createCrashPoints, createLog } from '${runtime}';
    const log = createLog({ service: 'child', level: 'fatal', instance: 'one' });
    const reach = createCrashPoints({ at: process.argv[1], log });
    setImmediate(() => console.log('went on'));
    process.on('exit', () => console.log('cleaned up'));
    for (const time of [1, 2, 3]) { console.log(String(time)); reach('send.answered'); reach('send.started'); }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, at], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (at.endsWith('=stop') && output.startsWith('1\n')) setTimeout(() => child.kill('SIGCONT'), 100);
  });
  const [code, signal] = await once(child, 'close');
  return { code, signal, output };
}

test('the process is killed at its point, and not one callback runs after it', async () => {
  expect(await reachThrice('send.started')).toEqual({ code: null, signal: 'SIGKILL', output: '1\n' });
});

test('a number says at which time', async () => {
  expect(await reachThrice('send.started:3')).toEqual({ code: null, signal: 'SIGKILL', output: '1\n2\n3\n' });
});

test('a frozen process goes on when it is told to', async () => {
  const { code, output } = await reachThrice('send.started=stop');

  expect({ code, output }).toEqual({ code: 0, output: '1\n2\n3\nwent on\ncleaned up\n' });
});

test('without a point nothing is armed', () => {
  const log = createLog({ service: 'test', level: 'silent', instance: 'one' });

  expect(createCrashPoints({ at: undefined, log })).toBeUndefined();
});

test('only points that exist can be named', () => {
  for (const point of Object.keys(CRASH_POINTS)) expect(point).toMatch(CRASH_AT_PATTERN);
  for (const wrong of ['send', 'send.started:0', 'sendxstarted', 'send.started=kill'])
    expect(wrong).not.toMatch(CRASH_AT_PATTERN);
});
