import { expect, test } from 'vitest';
import { repositoryRoot, stateFolder } from '../src/config.ts';
import { diagnose } from '../src/index.ts';

test('the doctor is blocked by an environment with some of the URLs and says how to mend it', async () => {
  const env = { PATH: '/usr/bin:/bin', REDIS_URL: 'redis://127.0.0.1' };

  const { ok, checks } = await diagnose({ repositoryRoot, stateFolder, env });

  const services = checks.find(({ name }) => name === 'services');
  expect(ok).toBe(false);
  expect(services).toMatchObject({ status: 'blocked', fix: expect.stringContaining('unset') });
});

test('everything that the doctor finds missing comes with the command that mends it', async () => {
  const { checks } = await diagnose({ repositoryRoot, stateFolder, env: { PATH: '/nowhere' } });

  for (const { status, fix } of checks) expect(status === 'ok' || Boolean(fix)).toBe(true);
});
