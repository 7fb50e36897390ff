import type { Tenant } from '@dueline/contracts';
import { checkInvariants, inTransaction, sql } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId } from '@dueline/db/testing';
import { finishActions, holdActions, SCHEDULED_ACTION_INVARIANTS } from '@dueline/scheduled-actions';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkVersions } from './history-rules.ts';
import { decide, OPERATIONS, type Scene, sweep, type Told } from './race-operations.ts';
import { openStage, type Stage } from './race-stage.ts';
import { beginAnew, insertInState, type MetRow, STATES, type StateName, versionsOf } from './race-states.ts';
import { after, HAPPENINGS, type Happening, type RowModel, rowInState } from './row-model.ts';
import { claim } from './support.ts';

/** Longer than any wait before a retry. */
const RETRY_SECONDS = 21;
const LENGTH = { minLength: 20, maxLength: 40, size: 'max' } as const;

let stage: Stage;
let tenants: { readonly tenant: Tenant; readonly linkId: string }[];
let people = 0;
beforeAll(async () => {
  stage = await openStage();
  tenants = await Promise.all([insertAccount(), insertAccount()]);
});
afterAll(() => stage[Symbol.asyncDispose]());

async function insertAccount() {
  const tenant = await insertTenant(stage.own.db);
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const link = await insertRow(stage.own.db, 'tracked_link', { ...base, name: 'shop', url: 'https://example.com' });
  return { tenant, linkId: String(link.id) };
}

/** A row, whose it is, and of whom it is not. */
interface Subject extends MetRow {
  readonly tenant: Tenant;
  readonly stranger: Tenant;
  readonly linkId: string;
  readonly userId: string;
}

async function insertSubject(state: StateName, at: number): Promise<Subject> {
  const [account, other] = at % 2 === 0 ? tenants : tenants.toReversed();
  if (account === undefined || other === undefined) throw new Error('there are two accounts');
  people += 1;
  const userId = lineUserId(people);
  const met = await insertInState(stage.own.db, account.tenant, { state, userId, linkId: account.linkId });
  return { ...met, ...account, userId, stranger: other.tenant };
}

/** Mostly something that moves the row, as the model knows; else anything. */
const choices = fc.record({
  at: fc.nat(3),
  pick: fc.nat(9_999),
  isApt: fc.nat(4).map((n) => n > 0),
  isOld: fc.nat(9).map((n) => n === 0),
});
type Choice = typeof choices extends fc.Arbitrary<infer T> ? T : never;

interface Step {
  readonly at: number;
  readonly what: Happening;
  readonly isOld: boolean;
}

function chosen({ at, pick, isApt, isOld }: Choice, models: readonly RowModel[]): Step {
  const step = { at: at % models.length, isOld };
  const moves = (what: Happening) => after(models, { ...step, what, isOld: false })[step.at] !== models[step.at];
  const apt = isApt ? HAPPENINGS.filter(moves) : [];
  const among = apt.length > 0 ? apt : HAPPENINGS;
  return { ...step, what: among[pick % among.length] ?? 'claim' };
}

const states = fc.array(fc.constantFrom(...(Object.keys(STATES) as StateName[])), { minLength: 2, maxLength: 4 });

test('whatever happens to rows of two accounts, in whatever order, each is what the moves before made of it [SEM-047, SEM-064]', async () => {
  await fc.assert(
    fc.asyncProperty(states, fc.array(choices, LENGTH), async (starts, happenings) => {
      await beginAnew(stage.own.db);
      const subjects = await Promise.all(starts.map(insertSubject));
      let models = starts.map(rowInState);
      for (const choice of happenings) models = await checkStep(chosen(choice, models), { subjects, models });
      for (const subject of subjects) checkVersions(await versionsOf(stage.own.db, subject));
      await checkEnd(subjects);
    }),
    { numRuns: 20, interruptAfterTimeLimit: 60_000 },
  );
}, 90_000);

async function checkStep(
  step: Step,
  { subjects, models }: { subjects: readonly Subject[]; models: readonly RowModel[] },
): Promise<RowModel[]> {
  const [subject, model] = [subjects[step.at], models[step.at]];
  if (subject === undefined || model === undefined) throw new Error('there is no such row');
  const { moves } = await perform(step.what, sceneOf(step, { subject, model }));
  if (step.what === 'failed decision') await pass(RETRY_SECONDS);
  const expected = after(models, step);
  expect(await rowsOf(subjects), step.what).toEqual(expected.map(seenOf));
  const fences = (rows: readonly RowModel[]) => rows.reduce((sum, { fence }) => sum + fence, 0);
  expect(moves, `${step.what}: what it tells of`).toBe(fences(expected) - fences(models));
  expect(await violations({ leaseOverSeconds: 60, overdueSeconds: 86_400 }), step.what).toEqual([]);
  return expected;
}

function sceneOf({ what, isOld }: Step, { subject, model }: { subject: Subject; model: RowModel }): Scene {
  const { id, stranger, ...rest } = subject;
  const seen = { id, fence: String(model.fence - (isOld ? 1 : 0)) };
  const tenant = what.startsWith('a stranger') ? stranger : rest.tenant;
  return {
    ...{ ...rest, tenant, db: stage.own.db, seen, ticket: { ...tenant, ...seen } },
    state: model.status === 'cancelled' ? 'cancelled' : 'failed', // tells a person whether to revive or to un-cancel
    beforeCommit: () => Promise.resolve(),
  };
}

function perform(what: Happening, scene: Scene): Promise<Told> {
  if (what === 'leases end') return endLeases();
  if (what === 'put off') return putOff(scene);
  if (what === 'a stranger decides') return decide(scene);
  if (what === 'a stranger cancels') return OPERATIONS.cancel.perform(scene);
  return OPERATIONS[what].perform(scene);
}

const pass = (seconds: number) =>
  stage.own.db.execute(
    sql`update product_time_offset set ahead = ahead + make_interval(secs => ${seconds}::double precision)`,
  );

async function endLeases(): Promise<Told> {
  await stage.own.db.execute(sql`
    update scheduled_action set lease_until = clock_timestamp() - interval '1 second' where status = 'processing'`);
  return { moves: 0 };
}

const putOff = ({ db, ticket }: Scene): Promise<Told> =>
  inTransaction(db, async (tx) => {
    const held = await holdActions(tx, [ticket]);
    const outcomes = held.map(({ id, fence }) => ({ id, fence, to: 'deferred' as const, until: 'claimable' as const }));
    return { moves: (await finishActions(tx, outcomes)).size };
  });

/** What the database has of a row, and what a model says that it has: an owner while it is claimed, an end when it has ended. */
function seenOf({ status, fence, attempt, retries, deaths, gen, branch, reason }: RowModel) {
  const [isClaimed, isOpen] = [status === 'processing', status === 'processing' || status === 'pending'];
  return [status, fence, attempt, retries, deaths, gen, branch, reason, isClaimed, !isOpen];
}

async function rowsOf(subjects: readonly Subject[]): Promise<unknown[]> {
  const { rows } = await stage.own.db.$client.query({
    text: `select status, fence::int, attempt, retry_count, rescue_count, gen, branch, cancel_reason,
                  lease_until is not null and (status <> 'processing' or claimed_by is not null), executed_at is not null
             from scheduled_action where id = any($1) order by array_position($1, id)`,
    values: [subjects.map(({ id }) => id)],
    rowMode: 'array',
  });
  return rows;
}

async function violations(limits: { leaseOverSeconds: number; overdueSeconds: number }): Promise<string[]> {
  const found = await checkInvariants(stage.own.db, SCHEDULED_ACTION_INVARIANTS, {
    ...{ ...limits, silentSeconds: 0, historyDays: 1 },
  });
  return found.flatMap(({ id, sample }) => sample.map((what) => `${id}: ${what}`));
}

/** Time goes on, and workers do what is left to do: nothing is stuck, and the history of each row is whole. */
async function checkEnd(subjects: readonly Subject[]): Promise<void> {
  const { db } = stage.own;
  await endLeases();
  await OPERATIONS.reap.perform({ db } as Scene);
  await pass(7_200);
  for (const subject of subjects) await sweep(sceneAt(subject, '0'));
  for (const ticket of await claim(db)) {
    const subject = subjects.find(({ id }) => id === ticket.id);
    if (subject !== undefined) await decide(sceneAt(subject, ticket.fence));
  }
  const ids = subjects.map(({ id }) => id);
  const open = `select status from scheduled_action where id = any($1) and status in ('pending', 'processing')`;
  expect(await columnOf(db, open, [ids])).toEqual([]);
  expect(await violations({ leaseOverSeconds: 0, overdueSeconds: 0 })).toEqual([]);
}

const sceneAt = (subject: Subject, fence: string): Scene => ({
  ...sceneOf({ at: 0, what: 'hold and finish', isOld: false }, { subject, model: rowInState('claimed') }),
  seen: { id: subject.id, fence },
  ticket: { ...subject.tenant, id: subject.id, fence },
});
