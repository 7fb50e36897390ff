import type { Tenant } from '@dueline/contracts';
import { columnOf, insertRow, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { type PastEntry, timelineOf } from '@dueline/history';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertDecision, insertEvent, insertRule, insertSentCampaign, tenantColumns, USER } from './support.ts';

let shared: TestDb;
let tenant: Tenant;
let base: ReturnType<typeof tenantColumns>;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
  base = tenantColumns(tenant);
  await insertUsers(shared.db, tenant, 9);
});
afterAll(() => shared[Symbol.asyncDispose]());

const look = (options: { limit?: number; after?: string; of?: Tenant } = {}) =>
  timelineOf(shared.db, options.of ?? tenant, { userId: USER, limit: 50, ...options });

const AT = (day: number, time = '00:00:00Z') => `2026-03-${String(day).padStart(2, '0')}T${time}`;

test('a timeline tells what somebody did, what each rule made of it, how it stands at LINE, and which campaigns reached them', async () => {
  const { db } = shared;
  const ruleId = await insertRule(db, tenant);
  const eventId = await insertEvent(db, tenant, { decided_at: AT(1), occurred_at: AT(1, '00:00:00.5Z') });
  const decisionId = await insertDecision(db, tenant, {
    event_id: eventId,
    trigger_rule_id: ruleId,
    created_date: AT(1),
  });
  await insertRow(db, 'delivery', {
    ...{
      ...base,
      kind: 'event',
      logical_id: `${eventId}:${ruleId}`,
      endpoint: 'push',
      user_id: USER,
      trigger_rule_id: ruleId,
    },
    ...{ retry_key: crypto.randomUUID(), body: '{}', body_sha256: '', deliver_until: AT(9), status: 'accepted' },
    ...{ accepted_at: AT(1, '00:00:02Z'), line_request_id: 'r-1' },
  });
  const campaignId = await insertSentCampaign(db, tenant, {
    frozenAt: AT(2),
    chunks: [
      [lineUserId(1), lineUserId(5)],
      [lineUserId(6), USER],
    ],
  });
  await insertSentCampaign(db, tenant, { frozenAt: AT(3), chunks: [[lineUserId(1), lineUserId(8)]] }); // between them, and not among them
  await insertSentCampaign(db, tenant, { frozenAt: AT(4), castType: 'broadcast', name: 'to all', chunks: [[]] });
  await insertDecision(db, tenant, {
    trigger_rule_id: ruleId,
    decision: 'suppressed',
    reason_code: 'frequency',
    created_date: AT(5),
  });

  const { past, next, person, upcoming } = await look();

  expect({ next, person, upcoming }).toEqual({
    next: null,
    person: { displayName: null, isFollowing: true },
    upcoming: [],
  });
  expect(past).toMatchObject([
    {
      kind: 'decision',
      at: expect.stringContaining('2026-03-05'),
      decision: 'suppressed',
      reasonCode: 'frequency',
      sent: [],
    },
    { kind: 'campaign', name: 'to all', sent: [{ endpoint: 'broadcast', status: 'accepted' }] },
    { kind: 'campaign', campaignId, name: '祭り', sent: [{ status: 'accepted', lineRequestId: 'request-1' }] },
    {
      kind: 'decision',
      id: decisionId,
      ruleName: '金 🏅',
      eventId,
      sent: [{ status: 'accepted', lineRequestId: 'r-1' }],
    },
    {
      kind: 'event',
      eventId,
      topic: 'form_submitted',
      occurredAt: expect.stringContaining('00:00:00.5'),
      payload: { form_id: '9' },
    },
  ]);
});

test('a timeline tells what is to come: what waits and for what, scheduled campaigns, and cycles they are meant by', async () => {
  const { db } = shared;
  const ruleId = await insertRule(db, tenant);
  const action = await insertRow(db, 'scheduled_action', {
    ...{
      ...base,
      trigger_rule_id: ruleId,
      user_id: USER,
      action_type: 'send_message',
      action_config: { messages: [] },
    },
    ...{
      execute_at: '2099-01-02Z',
      due_at: '2099-01-02Z',
      expires_at: '2099-01-02Z',
      anchor_at: '2026-01-01Z',
      dedup_key: 'x',
    },
  });
  await insertRow(db, 'action_wait', {
    ...{
      ...base,
      scheduled_action_id: action.id,
      n: 0,
      user_id: USER,
      source: 'link',
      ref_id: '12',
      branch: 'clicked',
    },
  });
  const audience = async (...users: string[]) => {
    const { id } = await insertRow(db, 'audience', { ...base, name: 'a' });
    for (const user of users) await insertRow(db, 'audience_member', { ...base, audience_id: id, user_id: user });
    return String(id);
  };
  const [mine, others] = [await audience(USER), await audience(lineUserId(1))];
  const campaign = { ...base, cast_type: 'multicast', status: 'scheduled', start_date: '2099-01-01Z' };
  const planned = await insertRow(db, 'campaign', { ...campaign, name: 'mine', audience_id: mine });
  await insertRow(db, 'campaign', { ...campaign, name: 'not mine', audience_id: others });
  await insertRow(db, 'campaign', { ...campaign, name: 'left out', audience_id: mine, excluded_user_ids: `{${USER}}` });
  await insertRow(db, 'campaign', {
    ...campaign,
    name: 'left out too',
    audience_id: mine,
    excluded_audience_ids: `{${mine}}`,
  });
  const cycle = (config: object) =>
    insertRule(db, tenant, { source_type: 'scheduled_time', source_config: { cron: '0 9 * * *', ...config } });
  const [asking, everybody] = [await cycle({ audienceId: mine, conditions: {} }), await cycle({})];
  await cycle({ audienceId: others });
  await db.$client.query(
    `update cycle_schedule set next_run_at = '2098-01-01Z', planned_at = app_now() where line_oa_id = $1`,
    [tenant.lineOaId],
  );

  const { upcoming, past } = await look();

  expect(past).toEqual([]);
  expect(upcoming).toMatchObject([
    { kind: 'cycle', triggerRuleId: asking, asks: true },
    { kind: 'cycle', triggerRuleId: everybody, asks: false, at: '2098-01-01T00:00:00+00:00' },
    { kind: 'campaign', campaignId: planned.id, name: 'mine' },
    {
      kind: 'action',
      id: action.id,
      waitsFor: [{ source: 'link', refId: '12', branch: 'clicked' }],
      status: 'pending',
    },
  ]);
  await db.$client.query('update line_user set is_following = false where user_id = $1', [USER]);
  expect((await look()).upcoming.map(({ kind }) => kind)).toEqual(['action']);
});

test('a click is told with the name of its link', async () => {
  const { id } = await insertRow(shared.db, 'tracked_link', { ...base, name: '🎟 tickets', url: 'https://example.com' });
  await insertEvent(shared.db, tenant, {
    topic: 'campaign_click',
    payload: { tracked_link_id: id, is_robot: 'false' },
  });
  expect((await look()).past).toMatchObject([{ topic: 'campaign_click', linkName: '🎟 tickets' }]);
});

const keyOf = (entry: PastEntry) =>
  entry.kind === 'event'
    ? entry.eventId
    : entry.kind === 'decision'
      ? `decision ${entry.id}`
      : `campaign ${entry.campaignId}`;

test('pages show each entry once, in order, also where an event and its many decisions are of one instant', async () => {
  for (let day = 1; day <= 9; day += 1) {
    await insertEvent(shared.db, tenant, { decided_at: AT(day) });
    for (let n = 0; n < 4; n += 1) await insertDecision(shared.db, tenant, { created_date: AT(day) });
    await insertSentCampaign(shared.db, tenant, { frozenAt: AT(day), chunks: [[USER]] });
  }
  const whole = (await look({ limit: 500 })).past.map(keyOf);
  expect(whole).toHaveLength(54);
  for (const limit of [1, 4, 6, 7, 53]) {
    const seen: string[] = [];
    for (let after: string | null | undefined; after !== null; ) {
      const page = await look({ limit, ...(after !== undefined && { after }) });
      expect(page.past.length).toBeLessThanOrEqual(limit);
      seen.push(...page.past.map(keyOf));
      after = page.next;
    }
    expect(seen, String(limit)).toEqual(whole);
  }
});

test('an account with very many campaigns still tells of the one that reached somebody long ago', async () => {
  await insertDecision(shared.db, tenant, { created_date: AT(9) });
  const campaignId = await insertSentCampaign(shared.db, tenant, { frozenAt: AT(1), chunks: [[USER]] });
  await insertDecision(shared.db, tenant, { created_date: AT(1, '00:00:01Z') });
  await shared.db.$client.query(
    `insert into campaign (organization_id, line_oa_id, name, cast_type, frozen_at, planned_count)
     select $1, $2, 'of others', 'multicast', $3::timestamptz + make_interval(secs => n), 1 from generate_series(1, 250) as n`,
    [tenant.organizationId, tenant.lineOaId, AT(2)],
  );
  const seen: string[] = [];
  for (let after: string | null | undefined; after !== null; ) {
    const page = await look({ limit: 2, ...(after !== undefined && { after }) });
    seen.push(...page.past.map(keyOf));
    after = page.next;
  }
  expect(seen).toHaveLength(3);
  expect(seen.at(-1)).toBe(`campaign ${campaignId}`);
});

test('a timeline is of one account only, and one of nobody known is empty', async () => {
  await insertEvent(shared.db, tenant);
  await insertDecision(shared.db, tenant);
  const other = await insertTenant(shared.db);
  expect(await look({ of: other })).toEqual({ userId: USER, person: null, upcoming: [], past: [], next: null });
  await expect((async () => timelineOf(shared.db, tenant, { userId: 'mika', limit: 1 }))()).rejects.toThrow(
    /mika is not a user id/,
  );
  expect(await columnOf(shared.db, 'select 1')).toEqual(['1']);
});
