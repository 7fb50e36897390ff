import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';

type Line = { readonly msg: string; readonly step?: string; readonly ms?: number; readonly level: string };

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function start(scenario: string, timeoutMs = 5_000) {
  const file = new URL('./service-child.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [file, scenario, String(timeoutMs)], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let out = '';
  let errors = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    errors += data;
  });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const lines = (): Line[] => out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return {
    child,
    ended,
    lines,
    messages: () => lines().map((line) => line.msg),
    errors: () => errors,
    seen: (msg: string) =>
      vi.waitFor(() => expect(lines().map((line) => line.msg)).toContain(msg), { timeout: 10_000, interval: 5 }),
  };
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s stops what was started last first, and exits with 0', async (signal) => {
  const service = start('ordered');
  await service.seen('ready');

  service.child.kill(signal);

  expect(await service.ended).toBe(0);
  expect(service.messages()).toEqual([
    'ready',
    'stopping',
    'consumer drained',
    'stopped a part',
    'a part did not stop cleanly',
    'database closed',
    'stopped a part',
    'stopped a part',
    'stopped',
  ]);
  const steps = service.lines().filter((line) => line.step !== undefined);
  expect(steps.map((line) => line.step)).toEqual(['consumer', 'broker', 'database', 'keep alive']);
  expect(steps[0]?.ms).toBeGreaterThanOrEqual(45);
});

test('a second signal ends a stop that hangs at once, with 1', async () => {
  const service = start('stuck', 60_000);
  await service.seen('ready');
  service.child.kill('SIGTERM');
  await service.seen('stopping');

  service.child.kill('SIGTERM');

  expect(await service.ended).toBe(1);
  expect(service.messages()).toContain('a second signal ends the process at once');
});

test('a stop that hangs is ended by the watchdog, with 1', async () => {
  const service = start('stuck', 300);
  await service.seen('ready');

  service.child.kill('SIGTERM');

  expect(await service.ended).toBe(1);
  expect(service.messages()).toContain('the stop took too long');
});

test('a wrong configuration is printed whole and without a stack, and what was started is stopped', async () => {
  const service = start('bad config');

  expect(await service.ended).toBe(1);
  expect(service.errors()).toContain('the configuration is not valid:');
  for (const name of ['HTTP_PORT', 'DATABASE_URL', 'API_TOKEN']) expect(service.errors()).toContain(`  ${name}: `);
  expect(service.errors()).not.toMatch(/\n\s+at |many/);
  expect(service.messages()).toContain('database closed');
});

test('a wrong configuration read before the service begins is printed the same way', async () => {
  const service = start('bad config at the top');

  expect(await service.ended).toBe(1);
  expect(service.errors()).toMatch(/^the configuration is not valid:\n {2}HTTP_PORT: /);
  expect(service.errors()).not.toMatch(/\n\s+at |many/);
});

test('a start that fails is fatal, and what was started is stopped', async () => {
  const service = start('failing start');

  expect(await service.ended).toBe(1);
  expect(service.messages()).toContain('database closed');
  expect(service.lines()[0]).toMatchObject({ level: 'fatal', msg: 'the service could not start' });
});

test('a signal during the start cuts it off and stops also what it opened last', async () => {
  const service = start('slow start');
  await service.seen('ready');

  service.child.kill('SIGTERM');

  expect(await service.ended).toBe(0);
  expect(service.messages()).toContain('broker closed');
  expect(service.messages()).not.toContain('went on starting');
});

test.each(['throws', 'rejects'])(
  'an error that nothing handles (%s) is fatal, stops in order and exits with 1',
  async (how) => {
    const service = start(how);

    expect(await service.ended).toBe(1);
    expect(service.lines()[0]).toMatchObject({ level: 'fatal', err: { message: 'a bug' } });
    expect(service.messages()).toContain('database closed');
  },
);

test('a service that has nothing left to do does not pass for one that was stopped', async () => {
  const service = start('idle');

  expect(await service.ended).toBe(1);
  expect(service.messages()).toContain('nothing is left that keeps the service running');
});

test.each(['ordered', 'stuck'])(
  'a process (%s) ends within two seconds after its parent was killed',
  async (scenario) => {
    const parent = start(`parent of ${scenario}`, 60_000);
    await parent.seen('ready');
    const killedAt = performance.now();

    parent.child.kill('SIGKILL');
    await parent.ended; // the pipe closes only when the grandchild, which inherited it, has ended too

    expect(performance.now() - killedAt).toBeLessThan(2_000);
    expect(parent.messages()).toContain('the parent process is gone');
  },
);
