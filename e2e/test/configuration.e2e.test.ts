import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, run } from './support.ts';

const valid = {
  PATH: process.env.PATH ?? '',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nowhere',
  AMQP_URL: 'amqp://127.0.0.1:1/nowhere',
  SECRETS_KEY: Buffer.alloc(32).toString('base64'),
};

const start = (app: string, env: NodeJS.ProcessEnv) =>
  run(process.execPath, ['src/main.ts'], { cwd: join(ROOT, 'apps', app), env });

test.for([
  ['pg-listener', 'OUTBOX_LEASE_SECONDS'],
  ['trigger-worker', 'CLAIM_LEASE_SECONDS'],
  ['cron-scheduler', 'CLAIM_LEASE_SECONDS'],
  ['cron-scheduler', 'REAP_INTERVAL_SECONDS'],
  ['cron-scheduler', 'CAMPAIGN_TICK_INTERVAL_SECONDS'],
  ['campaign-dispatcher', 'CAMPAIGN_STALE_SECONDS'],
  ['line-delivery', 'SETTLE_MARGIN_SECONDS'],
  ['line-delivery', 'LEASE_MARGIN_SECONDS'],
] as const)('production refuses a short %s %s', async ([app, variable]) => {
  const { code, stderr } = await start(app, { ...valid, [variable]: '1' });

  expect(code).toBe(1);
  expect(stderr).toContain(`${variable}: is below`);
});

test.for(['pg-listener', 'trigger-worker', 'cron-scheduler', 'line-delivery'])(
  'production refuses to start %s with a crash point',
  async (app) => {
    const { code, stderr } = await start(app, { ...valid, CRASH_AT: 'send.started' });

    expect(code).toBe(1);
    expect(stderr).toContain('CRASH_AT: is allowed only where DUELINE_ENV is test');
  },
);

test('all problems are reported at once, and no value is echoed', async () => {
  const { code, stderr } = await start('line-delivery', {
    PATH: valid.PATH,
    SECRETS_KEY: 'hunter2',
    SEND_CONCURRENCY: 'many',
  });

  expect(code).toBe(1);
  for (const name of ['DATABASE_URL', 'AMQP_URL', 'SECRETS_KEY', 'SEND_CONCURRENCY'])
    expect(stderr).toContain(`${name}:`);
  expect(stderr).not.toContain('hunter2');
});
