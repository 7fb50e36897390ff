import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@dueline/demo';
import { missingServers } from '@dueline/local-services';
import { expect, test } from 'vitest';
import { bench } from './bench-support.ts';

const run = promisify(execFile);

// Processor time is told of servers of the bench's own, so they must be installed.
test.skipIf(missingServers(process.env).length > 0)(
  'a bench drains real work through our apps and through other queues, and finds nothing lost or doubled',
  { timeout: 300_000 },
  async () => {
    const { ok, lost, doubled, standings } = await bench('drain', '--peers');
    expect({ ok, lost, doubled }).toEqual({ ok: true, lost: 0, doubled: 0 });
    expect(standings.map(({ name }) => name)).toEqual([
      ...['Dueline, inline', 'Dueline, through RabbitMQ', 'Dueline, claim and finish alone'],
      ...['graphile-worker', 'pg-boss', 'bullmq-aof-everysec', 'bullmq-aof-always', 'raw-sql', 'raw-sql-with-history'],
    ]);
    for (const { figures } of standings) expect(figures['actions/s']).toBeGreaterThan(0);
  },
);

test('a scenario that does not exist is refused by its name, with the list of those that do', async () => {
  const refused = run(process.execPath, [join(ROOT, 'bench/src/main.ts'), 'dran']);
  await expect(refused).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no scenario "dran"[\s\S]*drain-held/),
  });
});
