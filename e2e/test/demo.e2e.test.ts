import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { ROOT, run, serviceEnvironment } from './support.ts';

/** Bounds a failure only: a busy machine needs a minute to start everything. */
const PATIENCE_MS = 300_000;

async function demo(...args: string[]) {
  const { code, stdout, stderr } = await run('./dueline', ['demo', '--once', '--json', ...args], {
    env: serviceEnvironment(),
  });
  const lines = stdout.trimEnd().split('\n');
  return {
    code,
    verdict: JSON.parse(lines.at(-1) ?? ''),
    logFolder: /\.dueline\/logs\/[0-9a-f]+/.exec(stderr)?.[0] ?? '',
  };
}

test(
  'a change in a row becomes a LINE message, now or later or not at all, and a campaign reaches everybody, exactly once and never early; every source sets off its rule, and a loop is stopped; no log tells a secret',
  async () => {
    const { code, verdict, logFolder } = await demo();

    expect(verdict).toMatchObject({
      ...{ ok: true, planned: 8_150, received: 8_150, duplicates: 0, lost: 0, early: 0, unexpected: 0, violations: 0 },
      ...{
        cancelled: 60,
        cancelledPlanned: 60,
        waits: { unlocked: 16, expired: 24, late: 24 },
        loops: 2,
        loopsPlanned: 2,
        campaignsSent: 2,
        campaignsPlanned: 2,
      },
    });
    expect(verdict.latenessMs.p50).toBeGreaterThan(0);
    expect(verdict.latenessMs.p99).toBeGreaterThanOrEqual(verdict.latenessMs.p50);
    expect(code).toBe(0);
    expectNoSecrets(join(ROOT, logFolder));
  },
  PATIENCE_MS,
);

test.for([
  ['duplicate', { duplicates: 1, lost: 0, early: 0 }],
  ['loss', { duplicates: 0, lost: 2, early: 0 }], // the voucher and the tips of one person
  ['early', { duplicates: 0, lost: 0, early: 1 }],
] as const)('the check of the demo notices a planted %s', { timeout: PATIENCE_MS }, async ([plant, expected]) => {
  const { code, verdict } = await demo('--plant', plant);

  expect(verdict).toMatchObject({ ok: false, ...expected });
  expect(code).toBe(1);
});

test('a demo whose reader went away and that is interrupted while it starts stops in order and leaves nothing', async () => {
  const child = spawn(join(ROOT, 'dueline'), ['demo'], {
    cwd: ROOT,
    env: serviceEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(child.stdout, 'data');
  child.stdout.destroy();
  child.stderr.destroy();
  const exited = once(child, 'exit');
  child.kill('SIGINT');

  expect(await exited).toEqual([130, null]);
  const client = new pg.Client({ connectionString: inject('postgresUrl') });
  await client.connect();
  const { rows } = await client.query(`select datname from pg_database where datname like 'dueline_demo_%'`);
  await client.end();
  expect(rows).toEqual([]);
});

/** Fails when a log of the run holds a token, a password or a text that somebody was sent. */
function expectNoSecrets(logFolder: string): void {
  const logs = readdirSync(logFolder).map((file) => readFileSync(join(logFolder, file), 'utf8'));
  const password = new URL(serviceEnvironment().AMQP_URL ?? '').password;
  expect(logs.join('').length).toBeGreaterThan(1_000);
  for (const secret of ['demo-token-', 'Welcome to Gold', 'The new season', password].filter((text) => text !== '')) {
    expect(logs.filter((log) => log.includes(secret))).toHaveLength(0);
  }
}
