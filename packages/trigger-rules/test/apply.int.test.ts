import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { applyRules, createRule, listRules, setRuleMode, showRule } from '@dueline/trigger-rules';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
});
afterAll(() => shared[Symbol.asyncDispose]());

const named = (name: string, changes: object = {}) => ({ ...ruleDraft(), name, ...changes });
const sourcesOf = (documents: readonly unknown[]) =>
  documents.map((document, n) => ({ where: `rules/${n}.json`, document }));
const apply = (documents: readonly unknown[], confirm?: string) =>
  applyRules(shared.db, tenant, { sources: sourcesOf(documents), confirm });
const kinds = async (documents: readonly unknown[], confirm?: string) =>
  (await apply(documents, confirm)).changes.map(({ name, kind }) => `${name}: ${kind}`);

test('documents are applied by name: new ones become drafts, others what they say, what is so already stays as it is', async () => {
  const documents = [named('a'), named('b', { cooldownSeconds: 60 })];
  expect(await kinds(documents, 'any')).toEqual(['a: create', 'b: create']);
  expect(await kinds(documents, 'any')).toEqual(['a: none', 'b: none']);
  expect(await kinds([named('b', { cooldownSeconds: 90 })], 'any')).toEqual(['b: update']);
  const rules = await listRules(shared.db, tenant);
  expect(rules).toMatchObject([
    { version: 1, document: { name: 'a', mode: 'draft', enabled: true } },
    { version: 2, document: { name: 'b', mode: 'draft', cooldownSeconds: 90 } },
  ]);
});

test('conditions are stored as they are read, so that the same document changes nothing', async () => {
  const conditions = {
    all: [
      { attribute: 'vip', op: 'exists' },
      { event: '/payload/amount', op: 'gte', value: 5 },
    ],
  };
  const documents = [
    named('shops', { sourceType: 'custom_event', sourceConfig: { name: 'purchase', conditions } }),
    named('visits', { sourceType: 'friend_track_event_inserted', sourceConfig: {} }),
  ];
  expect(await kinds(documents, 'any')).toEqual(['shops: create', 'visits: create']);
  expect(await kinds(documents, 'any')).toEqual(['shops: none', 'visits: none']);
});

test('what would change is told first and changes nothing; it is done by its token, and by no other', async () => {
  const before = await apply([named('a')]);
  expect(before).toMatchObject({ isApplied: false, changes: [{ kind: 'create', ruleId: null }] });
  expect(await listRules(shared.db, tenant)).toEqual([]);
  const other = await apply([named('a', { cooldownSeconds: 1 })]);
  await expect(apply([named('a')], other.token)).rejects.toThrow('not what the token stands for');
  expect(await apply([named('a')], before.token)).toMatchObject({ isApplied: true });
  await expect(apply([named('a')], before.token)).rejects.toThrow('not what the token stands for');
  const { changes } = await apply([named('a', { sourceConfig: { attribute: 'plan', to: 'gold' }, frequency: 'once' })]);
  expect(changes[0]?.fields).toEqual([
    { pointer: '/frequency', from: 'every_time', to: 'once' },
    { pointer: '/sourceConfig/to', to: 'gold' },
  ]);
});

test('what a person published or switched off stays so, unless the document says otherwise', async () => {
  await apply([named('a')], 'any');
  const [rule] = await listRules(shared.db, tenant);
  await setRuleMode(shared.db, tenant, { ruleId: rule?.id ?? '', mode: 'live' });
  expect(await kinds([named('a')])).toEqual(['a: none']);
  expect(await kinds([named('a', { mode: 'observe', enabled: false })], 'any')).toEqual(['a: update']);
  expect(await listRules(shared.db, tenant)).toMatchObject([{ document: { mode: 'observe', enabled: false } }]);
});

test('everything that is wrong is told, with document and field, and nothing is applied', async () => {
  const wrong = [
    named('good'),
    named('bad', { cooldownSeconds: -1 }),
    { ...named('worse'), actionType: 'add_to_audience', actionConfig: { audienceId: '999999999' } },
    'no rule',
    { ...named('messages'), actionConfig: { messages: [{ type: 'text', text: '' }] } },
  ];
  const error = await apply(wrong, 'any').catch((thrown: Error) => thrown.message);
  expect(String(error).split('\n')).toEqual([
    expect.stringMatching(/^rules\/1\.json: \/cooldownSeconds: /),
    'rules/2.json: /actionConfig/audienceId: there is no such audience in this account',
    expect.stringMatching(/^rules\/3\.json: \/: /),
    expect.stringMatching(/^rules\/4\.json: \/actionConfig\/messages\/0\/text: /),
  ]);
  expect(await listRules(shared.db, tenant)).toEqual([]);
});

test('a name that is there twice is refused, in documents and in the account', async () => {
  await expect(apply([named('a'), named('a')], 'any')).rejects.toThrow(
    'rules/1.json: /name: rules/0.json has a rule of this name too',
  );
  await createRule(shared.db, tenant, ruleDraft({ name: 'twin' }));
  await createRule(shared.db, tenant, ruleDraft({ name: 'twin' }));
  await expect(apply([named('twin')])).rejects.toThrow('/name: the account has several rules of this name');
});

test('of two calls at once each rule is made once', async () => {
  await Promise.all([apply([named('a')], 'any'), apply([named('a')], 'any'), apply([named('a')], 'any')]);
  expect(await listRules(shared.db, tenant)).toHaveLength(1);
});

test('the rules of another account are neither seen nor changed', async () => {
  await apply([named('a')], 'any');
  const stranger = await insertTenant(shared.db);
  const sources = sourcesOf([named('a', { cooldownSeconds: 7 })]);
  expect(await applyRules(shared.db, stranger, { sources, confirm: 'any' })).toMatchObject({
    changes: [{ kind: 'create' }],
  });
  const [mine] = await listRules(shared.db, tenant);
  expect(mine).toMatchObject({ version: 1, document: { cooldownSeconds: 0 } });
  expect(await showRule(shared.db, stranger, { ruleId: mine?.id ?? '' })).toBeUndefined();
});

test('each version of a rule is kept as it was, whoever wrote it, and is never changed', async () => {
  await apply([named('a')], 'any');
  const [{ id } = { id: '' }] = await listRules(shared.db, tenant);
  await shared.db.$client.query(`update trigger_rule set cooldown_seconds = 5 where id = $1`, [id]); // another service
  await shared.db.$client.query(
    `update trigger_rule set cooldown_seconds = 5, updated_date = app_now() where id = $1`,
    [id],
  );
  const rule = await showRule(shared.db, tenant, { ruleId: id });
  expect(rule).toMatchObject({
    version: 2,
    versions: [
      { version: 2, snapshot: { cooldown_seconds: 5, name: 'a' } },
      { version: 1, snapshot: { cooldown_seconds: 0, mode: 'draft' } },
    ],
    decisions: [],
  });
  for (const change of ['update trigger_rule_version set version = 9', 'delete from trigger_rule_version'])
    await expect(shared.db.$client.query(change)).rejects.toThrow('what a rule said once is not changed');
  expect(
    await columnOf(shared.db, 'select count(*) from trigger_rule_version where trigger_rule_id = $1', [id]),
  ).toEqual(['2']);
});
