import type { ActionConfig, Tenant } from '@dueline/contracts';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import { claimAll, claimOf, context, dueActions, fire } from './due.ts';
import {
  announceAll,
  count,
  createCityRule,
  createTenant,
  decideDeps,
  decisions,
  message,
  setAttributes,
  userId,
} from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await createTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const GREETING: ActionConfig<'send_message'> = {
  messages: [
    {
      type: 'text',
      text: 'Hello {{ display_name | "friend" }} in {{ attribute.city | "your town" }}',
      variants: { ja: '{{ display_name | "お客" }}様、{{ attribute.city | "街" }}へようこそ' },
    },
  ],
};
/** Empty for whoever has no voucher. */
const VOUCHER: ActionConfig<'send_message'> = {
  messages: [
    { type: 'text', text: 'for you:' },
    { type: 'text', text: '{{ attribute.voucher | "" }}' },
  ],
};
const ofConfig = (actionConfig: ActionConfig<'send_message'>) => ({
  request: { actionType: 'send_message' as const, actionConfig },
});

const people = (changes: string, n: number) =>
  own.db.$client.query(`update line_user set ${changes} where user_id = $1`, [userId(n)]);

/** What everybody gets, in the order of the people. */
const said = async () =>
  (await columnOf(own.db, 'select body from delivery order by user_id, ordinal')).map((body) =>
    JSON.parse(String(body)).messages.map(({ text }: { text: string }) => text),
  );

/** The ways to decide what an action says. */
const WAYS = {
  'at once': async (actionConfig: ActionConfig<'send_message'>) => {
    await createCityRule(own.db, tenant, { actionConfig });
    await setAttributes(own.db, tenant, { city: 'Edo' }, [0, 1, 2]);
    const tickets = await announceAll(own.db);
    await handleTriggerEvents(decideDeps(own.db), 'attribute_changed')(message(tenant, { tickets }), context);
  },
  'by the queue': async (actionConfig: ActionConfig<'send_message'>) => {
    await setAttributes(own.db, tenant, { city: 'Edo' }, [0, 1, 2]);
    await dueActions(own.db, tenant, { count: 3, ...ofConfig(actionConfig) });
    await fire(decideDeps(own.db), await claimAll(own.db));
  },
  inline: async (actionConfig: ActionConfig<'send_message'>) => {
    await setAttributes(own.db, tenant, { city: 'Edo' }, [0, 1, 2]);
    await dueActions(own.db, tenant, { count: 3, ...ofConfig(actionConfig) });
    await processDueActions(decideDeps(own.db), claimOf('inline'))();
  },
} as const;
const ways = ['at once', 'by the queue', 'inline'] as const;

test.for(ways)(
  '%s: each person is told in their own words and language, and later changes change none of it',
  async (way) => {
    await people(`display_name = 'Mari 🌸'`, 1);
    await people(`display_name = '花子', language = 'ja-JP'`, 2);
    await WAYS[way](GREETING);
    const expected = [['Hello friend in Edo'], ['Hello Mari 🌸 in Edo'], ['花子様、Edoへようこそ']];
    expect(await said()).toEqual(expected);

    await own.db.$client.query(
      `update line_user set display_name = 'other', language = 'th', attributes = '{"city": "Kyoto"}'`,
    );
    expect(await said()).toEqual(expected);
    expect(
      await columnOf(
        own.db,
        `select distinct body_sha256 = encode(sha256(convert_to(body, 'UTF8')), 'hex') from delivery`,
      ),
    ).toEqual(['true']);
    // history keeps what was written, not what was said to whom
    expect(
      await columnOf(
        own.db,
        `select distinct action_config #>> '{messages,0,text}' from trigger_log where decision = 'fired'`,
      ),
    ).toEqual([GREETING.messages[0]?.text]);
  },
);

test.for(ways)(
  '%s: a text that comes out empty fails for its person as a whole, says so, and needs a person; others get theirs',
  async (way) => {
    await setAttributes(own.db, tenant, { voucher: 'A-1' }, [1]);
    await WAYS[way](VOUCHER);
    expect(await said()).toEqual([['for you:', 'A-1']]);
    const atOnce = way === 'at once';
    expect(await decisions(own.db)).toEqual({
      [atOnce ? 'fired: matched' : 'fired: due']: 1,
      'failed: content_invalid': 2,
    });
    const problem = 'message 2: its text is empty once it is filled in';
    expect(
      await columnOf(
        own.db,
        `select distinct coalesce(error_message, detail ->> 'problem') from trigger_log where decision = 'failed'`,
      ),
    ).toEqual([problem]);
    expect(await columnOf(own.db, 'select kind || reason_code from attention_item')).toEqual(
      atOnce ? ['rule_failedcontent_invalid'] : Array(2).fill('action_failedcontent_invalid'),
    );
    if (atOnce) return;
    expect(await columnOf(own.db, `select last_error from scheduled_action where status = 'failed'`)).toEqual([
      problem,
      problem,
    ]);
    expect(
      await count(own.db, 'scheduled_action', `status = 'failed' and attempt = 1 and executed_at is not null`),
    ).toBe(2);
  },
);

test('seven messages are two deliveries of one action, of which the first is handed over [T28]', async () => {
  const messages = Array.from({ length: 7 }, (_, n) => ({
    type: 'text' as const,
    text: `${n} {{ attribute.city | "-" }}`,
  }));
  await setAttributes(own.db, tenant, { city: 'Edo' }, [0]);
  await dueActions(own.db, tenant, { count: 1, ...ofConfig({ messages }) });
  const deps = decideDeps(own.db);
  await fire(deps, await claimAll(own.db));
  expect((await said()).map((texts) => texts.length)).toEqual([5, 2]);
  expect(deps.handedOver.map(({ id }) => id)).toEqual(
    await columnOf(own.db, 'select id from delivery where ordinal = 0'),
  );
  expect(await columnOf(own.db, 'select delivery_id from trigger_log')).toEqual(deps.handedOver.map(({ id }) => id));
});
