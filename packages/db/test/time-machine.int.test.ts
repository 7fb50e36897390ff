import { hasTimeMachine, installTimeMachine, jumpAhead, openRequests, readProductTime } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

const DAY = 86_400;
let own: TestDb;

beforeEach(async () => {
  own = await testDb();
  await installTimeMachine(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const jump = (seconds: number, moveOthers = async (_ahead: number) => {}) => jumpAhead(own.db, { seconds, moveOthers });

async function insertDelivery(state: Record<string, unknown>): Promise<string> {
  const { organizationId, lineOaId } = await insertTenant(own.db);
  const { id } = await insertRow(own.db, 'delivery', {
    ...{
      organization_id: organizationId,
      line_oa_id: lineOaId,
      user_id: lineUserId(1),
      kind: 'action',
      logical_id: '1',
    },
    ...{
      endpoint: 'push',
      retry_key: crypto.randomUUID(),
      body: '{}',
      body_sha256: '',
      deliver_until: '2099-01-01Z',
      ...state,
    },
  });
  return String(id);
}

test('a database has no time machine unless it was installed, which may be done twice', async () => {
  await using plain = await testDb();
  expect(await hasTimeMachine(plain.db)).toBe(false);
  await installTimeMachine(own.db);
  expect(await hasTimeMachine(own.db)).toBe(true);
});

test('jumps add up, and clocks outside are told the whole offset', async () => {
  const told: number[] = [];
  await jump(3 * DAY, async (ahead) => void told.push(ahead));
  const time = await jump(3_600, async (ahead) => void told.push(ahead));
  expect(told).toEqual([3 * DAY, 3 * DAY + 3_600]);
  expect(time?.aheadSeconds).toBe(3 * DAY + 3_600);
  expect(Date.parse((await readProductTime(own.db)).now) - Date.now()).toBeGreaterThan((3 * DAY + 3_590) * 1_000);
});

test.for([0, -1, Number.NaN])('a jump of %s seconds is refused', async (seconds) => {
  await expect(jump(seconds)).rejects.toThrow('time only moves forward');
});

test('a clock outside that does not move keeps the database where it is', async () => {
  const refuse = async () => {
    throw new Error('the simulator is gone');
  };
  await expect(jump(DAY, refuse)).rejects.toThrow('the simulator is gone');
  expect((await readProductTime(own.db)).aheadSeconds).toBe(0);
});

test.for([
  ['on its way to LINE', { status: 'sending', lease_until: new Date() }, true],
  ['due', {}, true],
  ['without a verdict after an attempt', { first_attempt_at: new Date(), next_attempt_at: '2098-01-01Z' }, true],
  ['planned for later', { next_attempt_at: '2098-01-01Z' }, false],
  ['refused', { status: 'refused' }, false],
] as const)('a request that is %s: time stands still is %s', async ([, state, holds]) => {
  const id = await insertDelivery(state);
  expect((await jump(DAY)) === undefined).toBe(holds);
  expect(await openRequests(own.db)).toEqual(holds ? [expect.stringContaining(`delivery ${id} `)] : []);
  expect((await readProductTime(own.db)).aheadSeconds).toBe(holds ? 0 : DAY);
});

test.for([
  ['on its way to LINE', { status: 'sending', lease_until: new Date() }, true],
  ['in doubt', { first_attempt_at: new Date() }, false],
] as const)('a jump that leaves doubts behind is held up by a request that is %s: %s', async ([, state, holds]) => {
  await insertDelivery(state);
  const time = await jumpAhead(own.db, { seconds: DAY, moveOthers: async () => {}, leavesDoubts: true });
  expect(time === undefined).toBe(holds);
});

test('a request that starts during a jump starts after it', async () => {
  const id = await insertDelivery({ next_attempt_at: '2098-01-01Z' });
  let started: Promise<unknown> | undefined;
  let ended = false;
  await jump(DAY, async () => {
    started = own.db.$client
      .query('update delivery set next_attempt_at = now(), fence = fence + 1 where id = $1', [id])
      .finally(() => {
        ended = true;
      });
    const waits = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await expect.poll(async () => (await own.db.$client.query(waits)).rowCount).toBe(1);
    expect(ended).toBe(false);
  });
  await started;
});

test('the months up to the target have their partitions, so that nothing lands in the default one', async () => {
  await jump(400 * DAY);
  const { organizationId, lineOaId } = await insertTenant(own.db);
  const log = {
    organization_id: organizationId,
    line_oa_id: lineOaId,
    user_id: 'x',
    trigger_on: 'x',
    decision: 'fired',
  };
  await insertRow(own.db, 'trigger_log', { ...log, reason_code: 'matched' });
  expect(await columnOf(own.db, 'select count(*) from trigger_log_default')).toEqual(['0']);
});
