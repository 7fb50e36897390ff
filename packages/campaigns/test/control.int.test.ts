import type { CampaignStatus, Tenant, Ticket } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { columnOf, insertRow, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ControlOutcome,
  cancelCampaign,
  confirmCampaign,
  copyCampaign,
  deleteCampaign,
  editCampaign,
  listCampaigns,
  pauseCampaign,
  previewCampaign,
  rescheduleCampaign,
  resolveCampaign,
  resumeCampaign,
  retryCampaign,
  showCampaign,
  unscheduleCampaign,
} from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';
import { insertAudience } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterAll(() => own[Symbol.asyncDispose]());

const START = '2030-01-01T00:00:00Z';
const now = '2026-01-01T00:00:00Z';
const frozen = { frozen_at: now, start_date: now };
const claimed = { claimed_at: now, start_date: now };

/** Every state in which a person may meet a campaign. */
const STATES = {
  draft: { status: 'draft' },
  scheduled: { status: 'scheduled', start_date: START },
  'scheduled again': { status: 'scheduled', ...frozen },
  claimed: { status: 'sending', ...claimed },
  sending: { status: 'sending', ...claimed, ...frozen },
  'paused before its start': { status: 'paused', start_date: START },
  paused: { status: 'paused', ...frozen },
  stopping: { status: 'paused', ...frozen, cancel_requested_at: now },
  'more than confirmed': { status: 'needs_attention', start_date: START, confirmed_count: 1 },
  'needs a person': { status: 'needs_attention', ...frozen },
  'needs a person, too late': { status: 'needs_attention', ...frozen, not_after: now },
  sent: { status: 'sent', ...frozen, sent_at: now },
  failed: { status: 'failed', start_date: now },
  cancelled: { status: 'cancel', cancel_requested_at: now },
  deleted: { status: 'draft', deleted_date: now },
} as const;
type StateName = keyof typeof STATES;

type Verb = (tx: Tx, campaign: Ticket) => Promise<ControlOutcome>;
const nothingLeft = async () => ({ cancelled: 0, inFlight: 0, inDoubt: 0 });
const somethingInDoubt = async () => ({ cancelled: 0, inFlight: 0, inDoubt: 1 });
const oneRetried = async () => [{ id: '1', before: 'expired' }];
const retry =
  (options: { notAfter?: string; retried?: typeof oneRetried }): Verb =>
  async (tx, campaign) => {
    const { retried = oneRetried, ...rest } = options;
    const all = { campaign, acceptDuplicates: false, retryDeliveries: retried, ...rest };
    return (await retryCampaign(tx, tenant, all)).outcome;
  };

/** What each does in which state; in every other one it says why it does nothing. */
const VERBS: readonly (readonly [says: string, verb: Verb, moves: Partial<Record<StateName, CampaignStatus>>])[] = [
  [
    'pause',
    (tx, campaign) => pauseCampaign(tx, tenant, { campaign }),
    { scheduled: 'paused', 'scheduled again': 'paused', claimed: 'paused', sending: 'paused' },
  ],
  [
    'resume',
    (tx, campaign) => resumeCampaign(tx, tenant, { campaign, retryDeliveries: oneRetried }),
    { 'paused before its start': 'scheduled', paused: 'scheduled' },
  ],
  [
    'cancel',
    (tx, campaign) => cancelCampaign(tx, tenant, { campaign, stopDeliveries: nothingLeft }),
    {
      ...{ draft: 'cancel', scheduled: 'cancel', 'scheduled again': 'cancel', claimed: 'cancel', sending: 'cancel' },
      ...{ 'paused before its start': 'cancel', paused: 'cancel', 'more than confirmed': 'cancel' },
      ...{ 'needs a person': 'cancel', 'needs a person, too late': 'cancel' },
    },
  ],
  [
    'cancel with something in doubt',
    (tx, campaign) => cancelCampaign(tx, tenant, { campaign, stopDeliveries: somethingInDoubt }),
    {
      ...{ 'scheduled again': 'paused', sending: 'paused', paused: 'paused' },
      ...{ 'needs a person': 'needs_attention', 'needs a person, too late': 'needs_attention' },
    },
  ],
  ['unschedule', (tx, campaign) => unscheduleCampaign(tx, tenant, { campaign }), { scheduled: 'draft' }],
  [
    'edit',
    (tx, campaign) => editCampaign(tx, tenant, { campaign, name: 'another' }),
    {
      ...{ draft: 'draft', scheduled: 'scheduled', 'paused before its start': 'paused' },
      'more than confirmed': 'needs_attention',
    },
  ],
  [
    'edit of what it says',
    (tx, campaign) => editCampaign(tx, tenant, { campaign, messages: [{ type: 'text', text: 'else' }] }),
    { draft: 'draft', scheduled: 'draft', 'paused before its start': 'draft', 'more than confirmed': 'draft' },
  ],
  [
    'reschedule',
    (tx, campaign) => rescheduleCampaign(tx, tenant, { campaign, startDate: START }),
    { scheduled: 'scheduled', 'paused before its start': 'scheduled', 'more than confirmed': 'scheduled' },
  ],
  [
    'confirm',
    async (tx, campaign) => {
      const preview = await previewCampaign(own.db, tenant, { campaign, by: 'mika' });
      return confirmCampaign(tx, tenant, { campaign, token: preview?.token ?? '', by: 'mika' });
    },
    { 'more than confirmed': 'scheduled' },
  ],
  ['retry', retry({}), { 'needs a person': 'scheduled' }],
  [
    'retry until another time',
    retry({ notAfter: START }),
    { 'needs a person': 'scheduled', 'needs a person, too late': 'scheduled' },
  ],
  ['retry of nothing', retry({ retried: async () => [] }), {}],
  [
    'resolve',
    (tx, campaign) => resolveCampaign(tx, tenant, { campaign }),
    { 'needs a person': 'sent', 'needs a person, too late': 'sent' },
  ],
  [
    'delete',
    (tx, campaign) => deleteCampaign(tx, tenant, { campaign }),
    { draft: 'draft', sent: 'sent', failed: 'failed', cancelled: 'cancel' },
  ],
];

const insertIn = async (state: StateName, of: Tenant = tenant): Promise<Ticket> => {
  const row = await insertRow(own.db, 'campaign', {
    ...{ organization_id: of.organizationId, line_oa_id: of.lineOaId, name: 'x', cast_type: 'broadcast', fence: 7 },
    ...{ messages: JSON.stringify([{ type: 'text', text: 'x' }]), ...STATES[state] },
  });
  return { id: String(row.id), fence: String(row.fence) };
};
const rowOf = async (id: string) =>
  (await columnOf(own.db, `select (to_jsonb(campaign) - 'updated_date')::text from campaign where id = $1`, [id]))[0];

const CASES = VERBS.flatMap(([says, verb, moves]) =>
  (Object.keys(STATES) as StateName[])
    .filter((state) => says !== 'cancel with something in doubt' || 'frozen_at' in STATES[state])
    .map((state) => [says, state, moves[state], verb] as const),
);

test.for(CASES)('%s of a campaign, %s: %s', async ([says, state, to, verb]) => {
  const campaign = await insertIn(state);
  const before = await rowOf(campaign.id);
  const outcome = await inTransaction(own.db, (tx) => verb(tx, campaign));
  if (to === undefined) {
    expect(outcome.result).toBe('refused');
    expect(await rowOf(campaign.id)).toBe(before);
    return;
  }
  const fence = says === 'delete' ? '7' : '8';
  expect(outcome).toMatchObject({ result: 'changed', status: to, campaign: { id: campaign.id, fence } });
  expect(await columnOf(own.db, 'select concat(status, fence) from campaign where id = $1', [campaign.id])).toEqual([
    `${to}${fence}`,
  ]);
  const again = await inTransaction(own.db, (tx) => verb(tx, campaign));
  expect(again).toMatchObject({ refusal: says === 'delete' ? 'not_found' : 'changed' });
});

test.for(VERBS)('%s of another account’s campaign finds none', async ([, verb, moves]) => {
  const [state = 'draft'] = Object.keys(moves) as StateName[];
  const campaign = await insertIn(state, await insertTenant(own.db));
  const before = await rowOf(campaign.id);
  const outcome = await inTransaction(own.db, (tx) => verb(tx, campaign));
  expect(outcome).toEqual({ result: 'refused', refusal: 'not_found', status: null });
  expect(await rowOf(campaign.id)).toBe(before);
});

const WHY: readonly (readonly [verb: string, state: StateName, refusal: string])[] = [
  ['resume', 'stopping', 'stopping'],
  ['cancel', 'stopping', 'stopping'],
  ['edit', 'scheduled again', 'frozen'],
  ['reschedule', 'paused', 'frozen'],
  ['unschedule', 'scheduled again', 'frozen'],
  ['confirm', 'needs a person', 'frozen'],
  ['retry', 'more than confirmed', 'not_frozen'],
  ['resolve', 'more than confirmed', 'not_frozen'],
  ['retry', 'needs a person, too late', 'too_late'],
  ['retry of nothing', 'needs a person', 'nothing_to_retry'],
  ['pause', 'draft', 'wrong_status'],
  ['cancel', 'sent', 'wrong_status'],
  ['cancel', 'cancelled', 'wrong_status'],
  ['edit', 'deleted', 'not_found'],
];
test.for(WHY)('%s of a campaign, %s, is refused because: %s', async ([says, state, refusal]) => {
  const verb = VERBS.find(([name]) => name === says)?.[1];
  const campaign = await insertIn(state);
  expect(verb && (await inTransaction(own.db, (tx) => verb(tx, campaign)))).toMatchObject({ refusal });
});

test('what somebody cancelled can never be made to go on, whoever writes', async () => {
  const { id } = await insertIn('stopping');
  for (const status of ['scheduled', 'sending', 'sent'])
    await expect(
      own.db.$client.query(`update campaign set status = $1, fence = fence + 1 where id = $2`, [status, id]),
    ).rejects.toThrow();
});

test('an edit changes what it names and nothing else, and is refused whole when a part of it is wrong', async () => {
  const campaign = await insertIn('scheduled');
  const edit = (changes: object) => inTransaction(own.db, (tx) => editCampaign(tx, tenant, { campaign, ...changes }));
  await expect(edit({ name: '' })).rejects.toThrow('edit is invalid at /name');
  await expect(edit({ notAfter: '2029-01-01T00:00:00Z' })).rejects.toThrow('/notAfter: must be later than startDate');
  const audienceId = await insertAudience(own.db, tenant, []);
  await expect(edit({ audienceId })).rejects.toThrow('/audienceId: a broadcast goes to all friends');
  await expect(edit({ audienceId: '999999' })).rejects.toThrow('/audienceId: no such audience');
  await expect(edit({ color: 'red' })).rejects.toThrow('edit is invalid');
  expect(await edit({ messages: [{ type: 'text', text: 'new' }], notAfter: '2031-01-01T00:00:00Z' })).toMatchObject({
    result: 'changed',
  });
  const view = await showCampaign(own.db, tenant, campaign.id);
  expect(view).toMatchObject({
    name: 'x',
    status: 'draft',
    messages: [{ text: 'new' }],
    startDate: expect.stringContaining('2030'),
  });
});

/** What an edit may change, and whether that is another campaign than the one that was confirmed. */
const EDITS: readonly (readonly [
  says: string,
  edit: (audienceIds: readonly string[]) => object,
  isAnother: boolean,
])[] = [
  ['its name', () => ({ name: 'another' }), false],
  ['its time', () => ({ startDate: '2030-02-01T00:00:00Z', notAfter: null }), false],
  ['what it says, to the same', () => ({ messages: [{ type: 'text', text: 'hello' }] }), false],
  ['what it says', () => ({ messages: [{ type: 'text', text: 'else' }] }), true],
  ['its audience, to the same', ([own]) => ({ audienceId: own }), false],
  ['its audience', ([, another]) => ({ audienceId: another }), true],
  ['whom it leaves out, to the same', ([, , out]) => ({ exclude: { audienceIds: [out, out] } }), false],
  ['whom it leaves out', () => ({ exclude: { userIds: [`U${'0'.repeat(32)}`] } }), true],
];

test.for(EDITS)(
  'an edit of %s keeps a campaign scheduled unless what was confirmed is something else now',
  async (row) => {
    const [, edit, isAnother] = row;
    const of = await insertTenant(own.db);
    const person = [`U${'1'.repeat(32)}`];
    const friend = { organization_id: of.organizationId, line_oa_id: of.lineOaId, user_id: person[0] };
    await insertRow(own.db, 'line_user', friend);
    const audienceIds = [await insertAudience(own.db, of, person), await insertAudience(own.db, of, person)];
    audienceIds.push(await insertAudience(own.db, of, []));
    const [audienceId = '', , out = ''] = audienceIds;
    const campaign = await dueCampaign(own.db, of, {
      ...{ audienceId, exclude: { audienceIds: [out] }, text: 'hello', startDate: '2030-01-01T00:00:00Z' },
    });
    const outcome = await inTransaction(own.db, (tx) => editCampaign(tx, of, { campaign, ...edit(audienceIds) }));
    expect(outcome).toMatchObject({
      result: 'changed',
      before: 'scheduled',
      status: isAnother ? 'draft' : 'scheduled',
    });
    const { confirmedCount } = (await showCampaign(own.db, of, campaign.id)) ?? {};
    expect(confirmedCount).toBe(isAnother ? null : 1);
  },
);

test('a copy says the same to the same people, and is a draft; of another account it cannot be made', async () => {
  const { id } = await insertIn('failed');
  const copy = await inTransaction(own.db, (tx) => copyCampaign(tx, tenant, { id }));
  expect(await showCampaign(own.db, tenant, copy?.id ?? '')).toMatchObject({
    ...{ name: 'x', status: 'draft', fence: '0', messages: [{ type: 'text', text: 'x' }], startDate: null },
  });
  const other = await insertTenant(own.db);
  expect(await inTransaction(own.db, (tx) => copyCampaign(tx, other, { id }))).toBeUndefined();
});

test('a deleted campaign is not listed, and still shown', async () => {
  const campaign = await insertIn('sent');
  await inTransaction(own.db, (tx) => deleteCampaign(tx, tenant, { campaign }));
  const { campaigns } = await listCampaigns(own.db, tenant, { limit: 500 });
  expect(campaigns.map(({ id }) => id)).not.toContain(campaign.id);
  expect(await showCampaign(own.db, tenant, campaign.id)).toMatchObject({
    status: 'sent',
    deletedDate: expect.any(String),
  });
});
