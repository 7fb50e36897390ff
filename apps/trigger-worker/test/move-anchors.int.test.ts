import { inTransaction, lockUsers } from '@dueline/db';
import { takeEvents } from '@dueline/db/changes';
import { columnOf, testDb } from '@dueline/db/testing';
import { recordDecisions } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { moveAnchors } from '../src/move-anchors.ts';
import { announceAll, createCityRule, createTenant, decideDeps, message, setAttributes } from './support.ts';

type WhenPast = 'fire' | 'skip' | 'fail';

const MOVES: [name: string, value: unknown, whenPast: WhenPast, history: string, status: string][] = [
  ['to another day', '2998-01-01', 'skip', 'scheduled: date_moved', 'pending'],
  ['into the past: fire', '2020-01-01', 'fire', 'scheduled: date_past', 'pending'],
  ['into the past: skip', '2020-01-01', 'skip', 'cancelled: date_past', 'cancelled'],
  ['into the past: fail', '2020-01-01', 'fail', 'failed: date_past', 'failed'],
  ['to no day at all', 'some day', 'fire', 'cancelled: date_gone', 'cancelled'],
];

test.for(MOVES)(
  '[T11][T12] a date that moves %s is in the history of its event',
  async ([, value, whenPast, history, status]) => {
    await using database = await testDb();
    const { db } = database;
    const tenant = await createTenant(db, 2);
    await createCityRule(db, tenant, {
      actionConfig: {
        messages: [{ type: 'text', text: 'soon' }],
        delay: { mode: 'relativeToDate', to: { attribute: 'trial_ends' }, offsetDays: -3, whenPast },
      },
    });
    await setAttributes(db, tenant, { city: 'Edo', trial_ends: '2999-01-01' }, [0, 1]);
    const context = { signal: new AbortController().signal };
    const tickets = await announceAll(db);
    await handleTriggerEvents(decideDeps(db), 'attribute_changed')(message(tenant, { tickets }), context);

    await setAttributes(db, tenant, { trial_ends: value }, [1]);
    const [eventId] = await columnOf(db, 'select event_id from event_outbox');
    const again = await announceAll(db);
    await inTransaction(db, async (tx) => {
      await lockUsers(tx, [{ lineOaId: tenant.lineOaId, userId: `U${'1'.padStart(32, '0')}` }]);
      await recordDecisions(tx, await moveAnchors(tx, await takeEvents(tx, again)));
    });

    expect(
      await columnOf(db, `select decision || ': ' || reason_code from trigger_log where event_id = $1`, [eventId]),
    ).toEqual([history]);
    expect(await columnOf(db, `select status from scheduled_action order by user_id`)).toEqual(['pending', status]);
  },
);
