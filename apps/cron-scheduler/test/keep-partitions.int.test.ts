import { makePartitions } from '@dueline/db';
import { columnOf, moveProductTime, testDb } from '@dueline/db/testing';
import { createMetrics } from '@dueline/runtime';
import { expect, test } from 'vitest';
import { keepPartitions } from '../src/keep-partitions.ts';

const DAY = 86_400;
const RETENTION = { trigger_log: 2, event_archive: 0, attribute_change: 2 };

async function keeping() {
  const own = await testDb();
  const said: { level: string; text: string; table?: string }[] = [];
  const tell = (level: string) => (fields: object, text: string) => said.push({ level, text, ...fields });
  const log = { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') };
  const metrics = createMetrics({ service: 'test' });
  const keep = keepPartitions({ db: own.as('cron-scheduler'), log, metrics, retention: RETENTION });
  const figures = async () =>
    (await metrics.text())
      .split('\n')
      .filter((line) => /^dueline_partition\w*\{.*trigger_log/.test(line))
      .map((line) => line.replace(/\{.*\}/, ''));
  return { ...own, said, keep, figures, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

test('months are made ahead and dropped when they are older than kept, and figures tell it', async () => {
  await using own = await keeping();
  await own.keep();
  expect(own.said).toEqual([]);
  await makePartitions(own.db, 11);
  await moveProductTime(own.db, 300 * DAY);
  await own.keep();
  expect(own.said.map(({ level, text, table }) => `${level} ${table}: ${text}`)).toEqual([
    'info attribute_change: old months were dropped',
    'info trigger_log: old months were dropped',
  ]);
  expect(await own.figures()).toEqual([
    expect.stringMatching(/^dueline_partitions_dropped_total [78]$/),
    expect.stringMatching(/^dueline_partition_months_ahead [2-4]$/),
    'dueline_partition_rows_outside 0',
  ]);
  expect(
    await columnOf(own.db, `select 1 from pg_class where relname ~ '^event_archive_[0-9]'  having count(*) > 12`),
  ).toEqual(['1']);
});

test('that the next month cannot be made is told as an error, and nobody stops', async () => {
  await using own = await keeping();
  await moveProductTime(own.db, 400 * DAY);
  const reader = await own.db.$client.connect();
  try {
    await reader.query('begin; select count(*) from trigger_log_default');
    await own.keep();
    const errors = own.said.filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ table: 'trigger_log', text: 'the next month of a table has no partition' }]);
    expect(await own.figures()).toContain('dueline_partition_months_ahead -1');
  } finally {
    await reader.query('rollback');
    reader.release();
  }
  own.said.length = 0;
  await own.keep();
  expect(own.said.filter(({ level }) => level === 'error')).toEqual([]);
  expect(await own.figures()).toContain('dueline_partition_months_ahead 2');
});

test('beside a gap that a jump of the clock left, nothing is dropped, and it is told', async () => {
  await using own = await keeping();
  await moveProductTime(own.db, 4_000 * DAY);
  await own.keep();
  expect(own.said.map(({ level, table, text }) => `${level} ${table}: ${text}`)).toEqual(
    ['attribute_change', 'trigger_log'].map(
      (table) => `warn ${table}: months are missing in between: nothing is dropped, because the clock may be wrong`,
    ),
  );
});
