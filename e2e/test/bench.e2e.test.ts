import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@dueline/demo';
import { missingServers } from '@dueline/local-services';
import { expect, test } from 'vitest';

const run = promisify(execFile);

interface Report {
  readonly ok: boolean;
  readonly lost: number;
  readonly doubled: number;
  readonly standings: readonly { readonly name: string; readonly figures: Readonly<Record<string, number>> }[];
}

const bench = async (...args: string[]): Promise<Report> => {
  const command = [join(ROOT, 'bench/src/main.ts'), ...args, '--scale', '0.002', '--rounds', '1', '--json'];
  const { stdout } = await run(process.execPath, command, { maxBuffer: 2 ** 24 });
  return JSON.parse(stdout) as Report;
};

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

test.skipIf(missingServers(process.env).length > 0).for([
  ['fanout', ['0 ms', '20 ms', '100 ms', '20 ms, line-delivery killed in the middle']],
  ['tick', ['ticks with Redis', 'ticks without Redis', 'campaigns at their instants']],
  [
    'event',
    [
      ...['100 changes a second', '500 changes a second', '1,000 changes a second'],
      ...['single rows, our triggers', 'single rows, no trigger'],
      ...['statements of 100 rows, our triggers', 'statements of 100 rows, no trigger'],
    ],
  ],
] as const)(
  'the bench of campaigns and events (%s) runs our apps, and finds nothing lost or doubled',
  { timeout: 300_000 },
  async ([scenario, names]) => {
    const { ok, lost, doubled, standings } = await bench(scenario);
    expect({ ok, lost, doubled }).toEqual({ ok: true, lost: 0, doubled: 0 });
    expect(standings.map(({ name }) => name)).toEqual(names);
  },
);

test('a scenario that does not exist is refused by its name, with the list of those that do', async () => {
  const refused = run(process.execPath, [join(ROOT, 'bench/src/main.ts'), 'dran']);
  await expect(refused).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no scenario "dran"[\s\S]*drain-held/),
  });
});
