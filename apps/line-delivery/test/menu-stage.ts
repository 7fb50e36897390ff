import { randomUUID } from 'node:crypto';
import type { Tenant, Ticket } from '@dueline/contracts';
import { checkInvariants, type Db, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { createMenuDeliveries, DELIVERY_INVARIANTS, reapEarlierBoots } from '@dueline/deliveries';
import { createLineClient } from '@dueline/line-client';
import { createSimulator, type FaultRule, nthUserId, type Simulator } from '@dueline/line-simulator';
import { createRichMenu, RICH_MENU_INVARIANTS, wishRichMenus } from '@dueline/rich-menus';
import { gather } from '@dueline/runtime';
import { expect, onTestFinished } from 'vitest';
import { type ExecuteDeps, executeActions } from '../src/execute-action.ts';
import { createInHand } from '../src/in-hand.ts';
import { settleAttempts } from '../src/settle.ts';
import { limitsOf } from './limits/support.ts';

const TOKEN = 'a-token';
const MENUS = ['richmenu-1', 'richmenu-2'];
const QUIET = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const LIMITS = { leaseOverSeconds: 600, silentSeconds: 9_000, overdueSeconds: 9_000, historyDays: 31 };

export const user = (n: number): string => nthUserId('d', n);
type Menu = 0 | 1 | null;

export interface MenuStage {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly simulator: Simulator;
  /** Decides that these people shall see a menu, in this order; returns the tickets. */
  wish(people: readonly number[], menu: Menu): Promise<Ticket[]>;
  /** One message of tickets, until every attempt of it is settled. */
  execute(tickets: readonly Ticket[], parts?: Partial<ExecuteDeps>): Promise<unknown>;
  /** One message of all that is planned, after every wait of back-off. */
  executeRest(): Promise<void>;
  /** The same until nothing is planned. */
  executeAll(): Promise<void>;
  /** What LINE shows to these people: places in the list of menus. */
  shown(people: readonly number[]): Promise<Menu[]>;
  /** Status, reason and outcomes of the attempts, in the order of the decisions. */
  story(): Promise<(string | null)[]>;
  /** Requests that LINE saw, by endpoint. */
  requests(): Record<string, number>;
  faults(...rules: readonly Omit<FaultRule, 'id'>[]): void;
}

/** An account with two menus and 60 friends, at a LINE of its own. */
export async function menuStage(
  knobs: { bulkDelayMs?: number; settleSeconds?: number; attemptTimeoutMs?: number } = {},
): Promise<MenuStage> {
  const { db, [Symbol.asyncDispose]: drop } = await testDb();
  onTestFinished(() => drop());
  const tenant = await insertTenant(db);
  const [channelId] = await columnOf(db, 'select channel_id from line_oa where id = $1', [tenant.lineOaId]);
  const channel = { channelId: String(channelId), channelAccessToken: TOKEN, richMenuIds: MENUS };
  const simulator = await createSimulator({
    channels: [{ ...channel, users: [{ prefix: 'd', count: 60 }], knobs: { bulkDelayMs: knobs.bulkDelayMs ?? 0 } }],
  });
  const { attemptTimeoutMs = 10_000 } = knobs;
  const line = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs });
  const looking = createLineClient({ baseUrl: simulator.apiUrl });
  onTestFinished(async () => {
    line.close();
    looking.close();
    await simulator.close();
  });
  const ids: string[] = [];
  for (const lineRichMenuId of MENUS)
    ids.push(await createRichMenu(db, tenant, { name: lineRichMenuId, lineRichMenuId }));
  const deps = {
    ...{ db, line, log: QUIET, onSettled: () => undefined, channelAccessToken: async () => TOKEN },
    start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 60, settleSeconds: knobs.settleSeconds ?? 0 },
    settle: gather((settlements: Parameters<typeof settleAttempts>[1]) => settleAttempts(db, settlements), {
      maxSize: 50,
    }),
  };
  const execute: MenuStage['execute'] = async (tickets, parts = {}) => {
    const inHand = createInHand(100);
    const message = { id: randomUUID(), tenant, data: { tickets: [...tickets] }, deliveryCount: 0, publishedAt: '' };
    const outcome = await executeActions({ ...deps, ...parts, inHand, limits: limitsOf({ db, inHand }).push })(
      message,
      {
        signal: new AbortController().signal,
      },
    );
    await inHand.drain();
    return outcome;
  };
  const stage: MenuStage = {
    ...{ db, tenant, simulator, execute },
    wish: (people, menu) => wish(db, { tenant, people, menu, ids }),
    executeRest: async () => {
      await moveProductTime(db, 180);
      await execute(await plannedOf(db));
    },
    executeAll: () => expect.poll(() => stage.executeRest().then(() => plannedOf(db)), { timeout: 10_000 }).toEqual([]),
    shown: (people) =>
      Promise.all(
        people.map(async (n): Promise<Menu> => {
          const answer = await looking.getRichMenu({ channelAccessToken: TOKEN, userId: user(n) });
          if (answer.kind !== 'shown') throw new Error(answer.detail);
          return answer.richMenuId === null ? null : answer.richMenuId === MENUS[0] ? 0 : 1;
        }),
      ),
    story: () =>
      columnOf(
        db,
        `select concat_ws(' ', status, reason_code, (select string_agg(coalesce(outcome, '?') || coalesce(http_status::text, ''), ',' order by attempt_no)
                                                       from delivery_attempt where delivery_id = id)) from delivery order by id`,
      ),
    requests: () => countOf([...simulator.ledger.requests()].map(({ method, path }) => `${method} ${shortPath(path)}`)),
    faults: (...rules) => simulator.faults.set({ rules: rules.map((rule, n) => ({ id: `fault-${n}`, ...rule })) }),
  };
  return stage;
}

const plannedOf = async (db: Db): Promise<Ticket[]> =>
  (await db.$client.query<Ticket>(`select id, fence from delivery where status = 'planned' order by id`)).rows;

const shortPath = (path: string): string =>
  path
    .replace(/^\/v2\/bot\//, '')
    .replace(/U[0-9a-f]{32}/, ':user')
    .replace(/richmenu-\d+/, ':menu');

const countOf = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));

/** Rows are made in the order of these. */
let lastId = 0;
const nextId = (): string => {
  lastId += 1;
  return String(lastId).padStart(8, '0');
};

function wish(
  db: Db,
  { tenant, people, menu, ids }: { tenant: Tenant; people: readonly number[]; menu: Menu; ids: readonly string[] },
): Promise<Ticket[]> {
  return inTransaction(db, async (tx) => {
    const [channelId] = await columnOf(db, 'select channel_id from line_oa where id = $1', [tenant.lineOaId]);
    const sends = people.map((n) => ({
      ...{
        ...tenant,
        channelId: String(channelId),
        kind: 'event' as const,
        logicalId: `${nextId()}:${n}`,
        epoch: 1,
      },
      ...{ userId: user(n), lineRichMenuId: menu === null ? null : (MENUS[menu] ?? null) },
      ...{ triggerRuleId: null, scheduledActionId: null, eventId: null, rootId: null, traceparent: undefined },
    }));
    const made = await createMenuDeliveries(tx, sends);
    const idOf = new Map(made.map(({ logicalId, id }) => [logicalId, id]));
    await wishRichMenus(
      tx,
      sends.map(({ userId, logicalId }) => ({
        ...{
          ...tenant,
          userId,
          richMenuId: menu === null ? null : (ids[menu] ?? null),
          deliveryId: idOf.get(logicalId) ?? '',
        },
      })),
    );
    return made;
  });
}

/** As a worker that died with what it was sending: another boot takes it back. */
export const takeBack = (db: Db): Promise<number> => reapEarlierBoots(db, { claimedBy: 'line-delivery/test:2' });

/** What must hold when everything is settled: LINE shows the last wishes that it accepted, nobody broke its rules, and no invariant is broken. */
export async function expectSettled({ db, simulator, shown }: MenuStage, people: readonly number[]): Promise<void> {
  const wishes = await columnOf(
    db,
    `select line_rich_menu_id from unnest($1::text[]) with ordinality as person (user_id, place)
       join user_rich_menu using (user_id) left join rich_menu on rich_menu.id = rich_menu_id order by place`,
    [people.map(user)],
  );
  expect(await shown(people)).toEqual(wishes.map((menu) => (menu === null ? null : MENUS.indexOf(menu))));
  expect([...simulator.ledger.violations()]).toEqual([]);
  const checks = await checkInvariants(db, [...DELIVERY_INVARIANTS, ...RICH_MENU_INVARIANTS], LIMITS);
  expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
}
