import { makePartitions } from '@dueline/db';
import { columnOf, insertRow, insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { createMetrics } from '@dueline/runtime';
import { expect, test } from 'vitest';
import { removeOldWork } from '../src/remove-old-work.ts';

const MONTH_SECONDS = 31 * 86_400;

async function removing(keepMonths: number) {
  const own = await testDb();
  const said: { level: string; text: string }[] = [];
  const tell = (level: string) => (fields: object, text: string) => said.push({ level, text, ...fields });
  const log = { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') };
  const metrics = createMetrics({ service: 'test' });
  const { signal } = new AbortController();
  const deps = { db: own.as('cron-scheduler'), log, metrics, keepMonths, mostRows: 1_000, signal };
  const removed = async () =>
    /dueline_old_rows_removed_total\{[^}]*scheduled_action[^}]*\} (\d+)/.exec(await metrics.text())?.[1];
  const { organizationId, lineOaId } = await insertTenant(own.db);
  for (const key of ['a', 'b', 'c'])
    await insertRow(own.db, 'scheduled_action', {
      ...{ organization_id: organizationId, line_oa_id: lineOaId, user_id: 'U1', dedup_key: key },
      ...{ action_type: 'send_message', action_config: {}, execute_at: new Date(), due_at: new Date() },
      ...{ status: 'done', executed_at: new Date() },
    });
  return {
    ...own,
    said,
    removed,
    remove: removeOldWork(deps),
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}

test('what ended before the months that are kept is removed, once, and counted', async () => {
  await using own = await removing(2);
  expect(await own.removed()).toBe('0');
  await own.remove();
  expect([own.said, await own.removed()]).toEqual([[], '0']);
  await makePartitions(own.db, 4);
  await moveProductTime(own.db, 4 * MONTH_SECONDS);
  await makePartitions(own.db);
  await own.db.$client.query(
    `do $$ declare month text; begin for month in select relname from pg_class where relname ~ '^event_archive_[0-9]{4}_[0-9]{2}$' order by 1 limit 2
     loop execute format('drop table %I', month); end loop; end $$`,
  );
  await own.remove();
  await own.remove();
  expect(own.said).toMatchObject([{ level: 'info', text: 'old work was removed', rows: { scheduled_action: 3 } }]);
  expect(await own.removed()).toBe('3');
  expect(await columnOf(own.db, 'select id from scheduled_action')).toEqual([]);
});

test.for([
  ['kept for ever, says nothing', 0, []],
  ['beside a gap that a jump of the clock left, tells it', 2, ['warn']],
] as const)('work %s, and removes nothing', async ([, keepMonths, levels]) => {
  await using own = await removing(keepMonths);
  await moveProductTime(own.db, 48 * MONTH_SECONDS);
  await makePartitions(own.db);
  await own.remove();
  expect(own.said.map(({ level }) => level)).toEqual(levels);
  expect(await own.removed()).toBe('0');
});
