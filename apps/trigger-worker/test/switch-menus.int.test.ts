import type { Tenant } from '@dueline/contracts';
import { checkInvariants, type Db } from '@dueline/db';
import { columnOf, moveProductTime, testDb } from '@dueline/db/testing';
import { createRichMenu, deleteRichMenu, RICH_MENU_INVARIANTS } from '@dueline/rich-menus';
import { createRule, type RuleDraft } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { claimAll, context, fire } from './due.ts';
import { announceAll, createTenant, decideDeps, decisions, message, setAttributes } from './support.ts';

type MenuAction =
  | { to: string; menu: string; delay?: { seconds: number; reEvaluateConditions: boolean } }
  | { to: string; menu: null };

/** When the city becomes `to`, this menu. */
function menuRule(db: Db, tenant: Tenant, action: MenuAction): Promise<string> {
  const base = {
    name: action.to,
    sourceType: 'attribute_changed' as const,
    sourceConfig: { attribute: 'city', to: action.to },
    frequency: 'every_time' as const,
  };
  if (action.menu === null)
    return createRule(db, tenant, { ...base, actionType: 'unlink_rich_menu', actionConfig: {} });
  const { menu: richMenuId, ...rest } = action;
  const actionConfig = { richMenuId, ...('delay' in rest && { delay: rest.delay }) };
  const draft: RuleDraft<'switch_rich_menu'> = { ...base, actionType: 'switch_rich_menu', actionConfig };
  return createRule(db, tenant, draft);
}

const register = (db: Db, tenant: Tenant, n: number) =>
  createRichMenu(db, tenant, { name: `menu ${n}`, lineRichMenuId: `richmenu-${n}` });

/** An account with two menus, and rules: Edo one, Kyoto the other, Nara none, Osaka one in a minute. */
async function stage(db: Db) {
  const tenant = await createTenant(db, 5);
  const menus = [await register(db, tenant, 1), await register(db, tenant, 2)] as const;
  await menuRule(db, tenant, { to: 'Edo', menu: menus[0] });
  await menuRule(db, tenant, { to: 'Kyoto', menu: menus[1] });
  await menuRule(db, tenant, { to: 'Nara', menu: null });
  await menuRule(db, tenant, { to: 'Osaka', menu: menus[0], delay: { seconds: 60, reEvaluateConditions: false } });
  return { tenant, menus, deps: decideDeps(db) };
}

/** Wishes in the order of their people and numbers, and the requests that carry them. */
const wishes = (db: Db) =>
  columnOf(
    db,
    `select concat_ws(' ', right(wish.user_id, 1), action_seq, endpoint, body::json ->> 'richMenuId')
       from rich_menu_wish as wish join delivery on delivery.id = delivery_id order by wish.user_id, action_seq`,
  );

async function expectWhole(db: Db): Promise<void> {
  const limits = { leaseOverSeconds: 60, silentSeconds: 900, overdueSeconds: 300, historyDays: 31 };
  const checks = await checkInvariants(db, RICH_MENU_INVARIANTS, limits);
  expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
}

test('a change of a person switches their menu, once however often it is told', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps } = await stage(db);
  await setAttributes(db, tenant, { city: 'Edo' }, [0, 1]);
  const copy = message(tenant, { tickets: await announceAll(db) });
  const handle = handleTriggerEvents(deps, 'attribute_changed');
  await Promise.all([handle(copy, context), handle(copy, context)]);
  await handle(copy, context);

  expect(await wishes(db)).toEqual(['0 1 richmenu_link richmenu-1', '1 1 richmenu_link richmenu-1']);
  expect(deps.handedOver).toHaveLength(2);
  expect(await decisions(db)).toEqual({ 'fired: matched': 2, 'not_matched: value_not_matched': 6 });
  await expectWhole(db);
});

test('of several changes decided together each is a wish of its own, and the last one counts', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, menus, deps } = await stage(db);
  for (const city of ['Edo', 'Nara', 'Kyoto']) await setAttributes(db, tenant, { city }, [0]);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets: await announceAll(db) }), context);

  expect(await wishes(db)).toEqual([
    '0 1 richmenu_link richmenu-1',
    '0 2 richmenu_unlink',
    '0 3 richmenu_link richmenu-2',
  ]);
  expect(await columnOf(db, 'select rich_menu_id from user_rich_menu')).toEqual([menus[1]]);
  await expectWhole(db);
});

test('an action that waited wishes when it comes due, once however often it is fired', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps } = await stage(db);
  await setAttributes(db, tenant, { city: 'Osaka' }, [0, 1, 2]);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets: await announceAll(db) }), context);
  await setAttributes(db, tenant, { city: 'Nara' }, [1]);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets: await announceAll(db) }), context);
  expect(await wishes(db)).toEqual(['1 1 richmenu_unlink']);

  await moveProductTime(db, 61);
  const tickets = await claimAll(db);
  await Promise.all([fire(deps, tickets), fire(deps, tickets)]);
  expect(await wishes(db)).toEqual([
    '0 1 richmenu_link richmenu-1',
    '1 1 richmenu_unlink',
    '1 2 richmenu_link richmenu-1',
    '2 1 richmenu_link richmenu-1',
  ]);
  await expectWhole(db);
});

test('a rule cannot name a menu of another account, nor one that was deleted', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, menus } = await stage(db);
  const theirs = await register(db, await createTenant(db), 1);
  await deleteRichMenu(db, tenant, { id: menus[1] });
  for (const menu of [theirs, menus[1], '999'])
    await expect(menuRule(db, tenant, { to: 'Ise', menu })).rejects.toThrow(
      '/rule/actionConfig/richMenuId: there is no such rich menu in this account',
    );
});

test('what names a menu that was deleted meanwhile fails, and a person hears of what had waited', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, menus, deps } = await stage(db);
  await setAttributes(db, tenant, { city: 'Osaka' }, [0]);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets: await announceAll(db) }), context);
  await deleteRichMenu(db, tenant, { id: menus[0] });
  await setAttributes(db, tenant, { city: 'Edo' }, [1]);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets: await announceAll(db) }), context);
  await moveProductTime(db, 61);
  await fire(deps, await claimAll(db));

  expect(await decisions(db)).toMatchObject({ 'failed: rich_menu_deleted': 2 });
  expect(await wishes(db)).toEqual([]);
  expect(await columnOf(db, 'select reason_code from attention_item')).toEqual(['rich_menu_deleted']);
});
