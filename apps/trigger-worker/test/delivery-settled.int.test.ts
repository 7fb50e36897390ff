import { columnOf, insertRow } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { baseOf, setStage } from './facts-support.ts';

test('the end of a message that somebody waits for is taken into the archive once, and sets nothing off', async () => {
  await using stage = await setStage();
  const { db } = stage.shared;
  const id = await stage.waiting({ source: 'friend' });
  await insertRow(db, 'delivery', {
    ...{ ...baseOf(stage.tenant), kind: 'event', logical_id: 'e:1', endpoint: 'push', retry_key: crypto.randomUUID() },
    ...{ body: '{}', body_sha256: '', deliver_until: new Date(), announce_end: true },
  });
  await db.$client.query(`update delivery set status = 'cancelled', fence = fence + 1`);

  expect(await stage.consume()).toEqual(['done']);
  expect(await stage.consume()).toEqual([]);

  expect(await columnOf(db, `select concat_ws(' ', topic, payload ->> 'status') from event_archive`)).toEqual([
    'delivery_settled cancelled',
  ]);
  expect(await columnOf(db, 'select count(*) from event_outbox')).toEqual(['0']);
  expect(await columnOf(db, 'select count(*) from trigger_log')).toEqual(['0']);
  expect(await stage.stateOf(id)).toMatchObject({ branch: null, status: 'pending' });
});
