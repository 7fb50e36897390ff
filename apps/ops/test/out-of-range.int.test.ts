import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runAccount } from '../src/account.ts';
import { runActions } from '../src/actions/run.ts';
import { runCampaigns } from '../src/campaigns/run.ts';
import { runDryRun } from '../src/dry-run.ts';
import { runEvents } from '../src/events.ts';
import { runExplain } from '../src/explain.ts';

const RUN = {
  actions: runActions,
  campaigns: runCampaigns,
  'dry-run': runDryRun,
  events: runEvents,
  explain: runExplain,
} as const;

let own: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await createRule(own.db, tenant, {
    ...{ name: 'city', sourceType: 'attribute_changed', sourceConfig: { attribute: 'city' } },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
  });
  await dueCampaign(own.db, tenant);
});
afterAll(() => own[Symbol.asyncDispose]());

const PERSON = `U${'0'.repeat(32)}`;
const LARGE = '9999999999999999999'; // one digit too many for an id, 2^63 and more for a fence
const NEVER = '0000-01-01T00:00:00Z';

test.each([
  ['actions list --due-from', NEVER],
  ['actions edit 1 --at', NEVER],
  ['actions postpone 1 --to', NEVER],
  ['actions cancel 1 --fence', LARGE],
  ['campaigns preview 1 --fence', LARGE],
  ['campaigns schedule 1 --at 2099-01-01T00:00:00Z --confirm x --fence', LARGE],
  ['campaigns local-time 1 --at 2099-01-01T00:00 --fence', LARGE],
  ['dry-run 1 --from', '+275760-09-13T00:00:00Z'],
  ['dry-run 1 --to', NEVER],
  [`explain 1 ${PERSON} --at`, NEVER],
  [`explain 1 ${PERSON} --within`, '999999999w'],
  ['events replay --from 2026-01-01T00:00:00Z --to', '2026-03-01T10:00:00+23:59'],
  ['events replay --to 2026-01-01T00:00:00Z --from', NEVER],
] as const)('%s %s is not understood, and it is said why', async (words, value) => {
  const [command = '', ...args] = words.split(' ');
  const run = RUN[command as keyof typeof RUN];
  const said: string[] = [];
  const deps = { env: { DATABASE_URL: own.urlOf('ops') }, print: expect.unreachable, login: 'mika' };
  const code = await run({ ...deps, printError: (line) => said.push(line) }, [...args, value, '--json']);
  expect(code).toBe(2);
  expect(said.join('\n')).toMatch(/out of range/);
});

test.each(['stop', 'pause', 'unpause'])(
  'an account whose id is too long is not understood by account %s',
  async (verb) => {
    const deps = { env: { DATABASE_URL: own.urlOf('ops') }, print: expect.unreachable, login: 'mika' };
    await expect(runAccount([verb, LARGE], deps)).rejects.toThrow('usage: dueline account');
  },
);
