import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { createDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { claimBatch, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseAccountCommand, runAccount } from '../src/account.ts';
import { audit } from '../src/audit.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const each = (expression: string) => columnOf(own.db, `select ${expression} from scheduled_action order by id`);

async function dueline(...words: string[]): Promise<string> {
  const lines: string[] = [];
  await runAccount(words, {
    env: { DATABASE_URL: own.urlOf('ops') },
    print: (line) => lines.push(line),
    login: 'mika',
  });
  return lines.join('\n');
}

/** One call makes its rows in the order given. */
const schedule = (of: Tenant, delaysSeconds: number[]) =>
  inTransaction(own.db, (tx) => {
    const call = crypto.randomUUID();
    const keyOf = (at: number) => `${call}:${String(at).padStart(6, '0')}`;
    return scheduleMany(
      tx,
      delaysSeconds.map((delaySeconds, at) => actionToSchedule(of, { delaySeconds, dedupKey: keyOf(at) })),
    );
  });

const claim = async () => {
  const options = {
    claimedBy: 'a:1',
    via: 'queue',
    limit: 500,
    leaseSeconds: 60,
    maxProcessing: 5_000,
    overdueMs: 0,
  } as const;
  return (await claimBatch(own.db, options)).map(({ id }) => Number(id)).sort((left, right) => left - right);
};

/** Two actions that come due while the account is stopped, for an hour, and one that comes due later. */
async function stopForAnHour(target: string[]): Promise<void> {
  await schedule(tenant, [60, 1_800, 7_200]);
  await dueline('stop', ...target, '--reason', 'wrong voucher');
  await moveProductTime(own.db, 3_600);
  expect(await claim()).toEqual([]);
}

const TARGETS = ['account', 'organization'] as const;
const targetOf = (kind: (typeof TARGETS)[number]) =>
  kind === 'account' ? [tenant.lineOaId] : ['--organization', tenant.organizationId];

test.for(TARGETS)(
  '[T2] nothing of a stopped %s is claimed; resumed to catch up, what was held up is due at once',
  async (kind) => {
    await stopForAnHour(targetOf(kind));
    expect(await dueline('resume', ...targetOf(kind), '--how', 'catch_up')).toContain('resumed (catch_up)');
    expect(await claim()).toEqual([1, 2]);
  },
);

test.for(TARGETS)(
  '[T12] resumed to skip, what came due while the %s was stopped is cancelled and its history says why; the rest goes on',
  async (kind) => {
    await stopForAnHour(targetOf(kind));
    expect(await dueline('resume', ...targetOf(kind), '--how', 'skip')).toContain('2 actions were cancelled');
    expect(await each(`concat_ws(' ', status, fence, cancel_reason)`)).toEqual([
      'cancelled 1 skipped_while_stopped',
      'cancelled 1 skipped_while_stopped',
      'pending 0',
    ]);
    const history = await columnOf(
      own.db,
      `select concat_ws(' ', scheduled_action_id, decision, reason_code) from trigger_log order by 1`,
    );
    expect(history).toEqual(['1 cancelled skipped_while_stopped', '2 cancelled skipped_while_stopped']);
    expect(await claim()).toEqual([]);
    expect(
      await audit(own.db, { leaseOverSeconds: 60, silentSeconds: 60, overdueSeconds: 60, historyDays: 30 }),
    ).toMatchObject({
      ok: true,
    });
    await moveProductTime(own.db, 3_600);
    expect(await claim()).toEqual([3]);
  },
);

test.for(TARGETS)(
  '[T11] resumed to spread, what the %s held up is done over a tenth of the stop, each row at a time of its own',
  async (kind) => {
    await stopForAnHour(targetOf(kind));
    await schedule(
      tenant,
      Array.from({ length: 700 }, () => 0),
    );
    expect(await dueline('resume', ...targetOf(kind), '--how', 'spread')).toContain(
      '702 actions were given a later time',
    );
    const waits = (await each(`extract(epoch from execute_at - app_now())`)).map(Number).filter((wait) => wait < 3_000);
    expect(waits).toHaveLength(702);
    expect(Math.min(...waits)).toBeGreaterThan(-60); // the moment of the resume, which is a moment ago
    expect(Math.max(...waits)).toBeLessThanOrEqual(360);
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(300);
    expect(new Set(waits).size).toBeGreaterThan(300);
    await moveProductTime(own.db, 361);
    expect(await claim()).toHaveLength(500);
  },
);

test('what was planned before a stop is announced at once when it is over', async () => {
  await inTransaction(own.db, (tx) => createDeliveries(tx, [deliveryToCreate(tenant)]));
  await dueline('stop', tenant.lineOaId);
  await own.db.$client.query('update delivery set published_at = clock_timestamp(), announce_count = 5');
  await dueline('resume', tenant.lineOaId, '--how', 'catch_up');
  expect(await columnOf(own.db, 'select concat(published_at, announce_count) from delivery')).toEqual(['0']);
});

test('a row is spread by its own number and person, the same each time, evenly over the smaller of the minutes and a tenth of the window', async () => {
  const spread = (row: number, minutes: number, window: string) =>
    columnOf(own.db, `select extract(epoch from spread('U1', $1, $2, $3::interval))`, [row, minutes, window]).then(
      ([cell]) => Number(cell),
    );
  expect(await spread(7, 10, '1 day')).toBe(await spread(7, 10, '1 day'));
  expect(await spread(7, 10, '1 day')).not.toBe(await spread(8, 10, '1 day'));
  expect(await spread(7, 0, '1 day')).toBe(0);
  expect((await spread(7, 10, '10 minutes')) * 10).toBeCloseTo(await spread(7, 10, '1 day'));
  const tenths = await columnOf(
    own.db,
    `select count(*) from generate_series(1, 10000) as n group by floor(extract(epoch from spread('U' || n, n, 10, '1 day')) / 60) order by count(*)`,
  );
  expect(tenths).toHaveLength(10);
  expect(Number(tenths[0])).toBeGreaterThan(900);
});

test('an account stays stopped while its organization is, and the other way round; other tenants are not touched', async () => {
  const stranger = await insertTenant(own.db);
  const { id } = await insertRow(own.db, 'line_oa', {
    organization_id: tenant.organizationId,
    channel_id: '77',
    name: 'sister',
  });
  const sister = { organizationId: tenant.organizationId, lineOaId: String(id) };
  for (const of of [tenant, sister, stranger]) await schedule(of, [0]);
  await dueline('stop', tenant.lineOaId);
  await dueline('stop', '--organization', tenant.organizationId);
  expect(await claim()).toEqual([3]);
  await dueline('resume', '--organization', tenant.organizationId, '--how', 'skip');
  expect(await each('status')).toEqual(['pending', 'cancelled', 'processing']);
  expect(await claim()).toEqual([]);
  await dueline('resume', tenant.lineOaId, '--how', 'catch_up');
  expect(await claim()).toEqual([1]);
});

test('who stopped and resumed what, how and why, is kept', async () => {
  await schedule(tenant, [0]);
  await dueline('stop', tenant.lineOaId, '--reason', 'wrong voucher');
  expect(await dueline('resume', tenant.lineOaId, '--how', 'skip', '--by', 'aya', '--json')).toBe(
    JSON.stringify({ command: 'resume', lineOaId: tenant.lineOaId, how: 'skip', actions: 1 }),
  );
  const rows = await columnOf(
    own.db,
    `select concat_ws(' ', operation, line_oa_id, done_by, reason, after ->> 'how', after ->> 'actions') from audit_log order by id`,
  );
  expect(rows).toEqual([`stop ${tenant.lineOaId} mika wrong voucher`, `resume ${tenant.lineOaId} aya skip 1`]);
});

test.for([
  ['stop', '999999'],
  ['resume', '999999', '--how', 'skip'],
  ['resume', '1', '--how', 'catch_up'],
])('%s %s is refused when there is nothing to do', async (words) => {
  await expect(dueline(...words)).rejects.toThrow(/does not exist or is/);
  expect(await columnOf(own.db, 'select count(*) from audit_log')).toEqual(['0']);
});

test.for([
  [[]],
  [['stop']],
  [['stop', 'abc']],
  [['stop', '1', '2']],
  [['stop', '1', '--organization', '2']],
  [['stop', '1', '--how', 'skip']],
  [['resume', '1']],
  [['resume', '1', '--how', 'perhaps']],
  [['halt', '1']],
  [['stop', '1', '--loud']],
])('%j is no command: the answer is how to say it', ([words = []]) => {
  expect(() => parseAccountCommand(words, { user: 'mika' })).toThrow(/usage: dueline account/);
});
