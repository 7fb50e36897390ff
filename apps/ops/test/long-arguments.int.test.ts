import { dueCampaign } from '@dueline/campaigns/testing';
import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runActions } from '../src/actions/run.ts';
import { runAttention } from '../src/attention.ts';
import { runCampaigns } from '../src/campaigns/run.ts';
import { runCycles } from '../src/cycles.ts';
import { runDeliveries } from '../src/deliveries.ts';
import { runDryRun } from '../src/dry-run.ts';
import { runEvents } from '../src/events.ts';
import { runExplain } from '../src/explain.ts';
import { runHistory, runTimeline } from '../src/history/index.ts';
import { runMenus } from '../src/menus.ts';
import { runRules } from '../src/rules/index.ts';
import { shortened } from '../src/typed.ts';

const RUN = {
  ...{
    actions: runActions,
    attention: runAttention,
    campaigns: runCampaigns,
    cycles: runCycles,
    deliveries: runDeliveries,
  },
  ...{
    'dry-run': runDryRun,
    events: runEvents,
    explain: runExplain,
    history: runHistory,
    menus: runMenus,
    rules: runRules,
  },
  timeline: runTimeline,
} as const;

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
  const tenant = await insertTenant(own.db);
  await createRule(own.db, tenant, {
    ...{ name: 'city', sourceType: 'attribute_changed', sourceConfig: { attribute: 'city' } },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
  });
  await dueCampaign(own.db, tenant);
});
afterAll(() => own[Symbol.asyncDispose]());

const PERSON = `U${'0'.repeat(32)}`;

/** `…` stands for a wall of text. */
test.for([
  ...[
    '…',
    'show …',
    'edit … --text x',
    'list --status …',
    'list --due-from …',
    'list --limit …',
    'list --…',
    'list --account …',
  ].map((words) => `actions ${words}`),
  ...['…', 'dismiss … --why x', 'list --status …'].map((words) => `attention ${words}`),
  ...['…', 'show …', 'preview 1 --fence …', 'who 1 …', 'verify-evidence …'].map((words) => `campaigns ${words}`),
  ...['…', 'run …', 'show …', 'list --rule …', 'list --limit …', 'pause … …'].map((words) => `cycles ${words}`),
  ...['…', 'resend … --why x'].map((words) => `deliveries ${words}`),
  ...['…', '….json', '…#1', 'package.json/…', 'city --from …', 'city --next …', 'city --against …'].map(
    (words) => `dry-run ${words}`,
  ),
  ...['…', 'retry …', 'replay --from …', 'replay --from 2026-01-01T00:00:00Z --topic …'].map(
    (words) => `events ${words}`,
  ),
  ...[`… ${PERSON}`, 'city …', `city ${PERSON} --at …`, `city ${PERSON} --event …`, `city ${PERSON} --within …`].map(
    (words) => `explain ${words}`,
  ),
  ...['…', 'rule …', 'user …', 'rule 1 --limit …'].map((words) => `history ${words}`),
  ...['…', 'of …', 'delete …'].map((words) => `menus ${words}`),
  ...[
    '…',
    'show …',
    'publish …',
    'validate …',
    'validate ….json',
    'apply …',
    'enrol city --per-minute …',
    'enrol-confirm …',
    'cap --max … --per 1d',
    'cap --max 1 --per …',
  ].map((words) => `rules ${words}`),
  ...['…', `${PERSON} --limit …`].map((words) => `timeline ${words}`),
])('%s: it is said what is wrong, and a wall of text is not repeated', async (line) => {
  const [command = '', ...args] = line.split(' ').map((word) => word.replace('…', 'long '.repeat(2_000).trim()));
  const said: string[] = [];
  const print = (text: string) => said.push(text);
  const deps = { env: { DATABASE_URL: own.urlOf('ops') }, print, printError: print, login: 'mika' };
  const code = await RUN[command as keyof typeof RUN](deps, args);
  expect({ code: [1, 2].includes(code), isSaid: said.join('').length > 0 }).toEqual({ code: true, isSaid: true });
  expect(said.join('\n').length).toBeLessThan(800);
  expect(said.join('\n')).not.toMatch(/E[A-Z]{4,}/); // no code of the system
});

test('of a long text its beginning is shown, and how long it was', () => {
  const long = 'x'.repeat(5_000);
  const short = `${'x'.repeat(59)}… (5,000 characters)`;
  expect(shortened(`--at ${long}: no time`, [`--at=${long}`])).toBe(`--at ${short}: no time`);
  expect(shortened(`${long}#1 and ${long}`, ['show', `${long}#1`, long])).toBe(
    `${'x'.repeat(59)}… (5,002 characters) and ${short}`,
  );
  expect(shortened('nothing of it', [long, ''])).toBe('nothing of it');
});
