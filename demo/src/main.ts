import { parseArgs } from 'node:util';
import { CAMPAIGN_STATUS } from '@dueline/contracts';
import { runCommand, untilInterrupted } from './command.ts';
import { judge, type Verdict } from './judge.ts';
import { createNarrator, invitation, type Narrator } from './narrate.ts';
import { readActions, readCampaigns, readDecisions, readWaits, watchReceipts } from './observe.ts';
import { planStory } from './plan.ts';
import { PLANTING, PLANTS, type Plant } from './plant.ts';
import { type CauseTimes, play } from './play.ts';
import { playDailyCycle } from './play-cycles.ts';
import { playSources, readLoops, startClock } from './play-sources.ts';
import { playWaiting, type WaitingScene } from './play-waiting.ts';
import { channels, seed } from './seed.ts';
import { LOOPS_PLANNED } from './sources-story.ts';
import { announceDemo, theDemo } from './stack/running.ts';
import { type Stack, startStack } from './stack/stack.ts';
import { CAMPAIGNS } from './story.ts';
import { tellWhy } from './tell-why.ts';
import { WAITS_PLANNED } from './waiting-story.ts';

const HELP = `usage: ./dueline demo [--once] [--json] [--plant ${PLANTS.join('|')}]
       ./dueline demo --no-story
       ./dueline demo --env

  Starts services, apps and a simulated LINE, plays a story and checks it against what LINE delivered.

  --once           end after the story: exit 0 when all is as planned, else 1
  --json           one JSON object as the last line of standard output; the story goes to standard error
  --plant FAULT    do something wrong on purpose: the check must notice (needs --once)
  --no-story       accounts, people and rules are there, and nothing happens until you make it
  --env            what commands need to work with the demo that is up: eval "$(./dueline demo --env)"
`;
/** How long the last message may take; where a fault is planted the check may well wait in vain. */
const patienceMs = (plant: Plant | undefined): number => (plant === undefined ? 20_000 : 8_000);

type Options = {
  readonly once: boolean;
  readonly json: boolean;
  readonly plant: Plant | undefined;
  readonly story: boolean;
};

/** What happened before the demo is left to whoever watches: how it was judged, and the last receipt that was told. */
type Told = { readonly verdict?: Verdict; readonly lastSeq: number };

async function tellStory(
  stack: Stack,
  { plant }: Options,
  narrator: Narrator,
): Promise<{ verdict: Verdict; lastSeq: number }> {
  const { receipts: planned, cancelled: cancelledPlanned, ...story } = planStory();
  const isWhole = plant === undefined; // a fault is planted in the first scene, which is enough to notice it
  const later = isWhole ? new Map([...story.sources, ...story.waiting]) : new Map();
  const cast = await seed(stack);
  narrator.line('four organizations, 9,500 people, 26 rules and two campaigns are there; the story begins');

  const fault = plant === undefined ? undefined : PLANTING[plant];
  if (fault?.when === 'before') await fault.plant(stack);
  const watch = watchReceipts(stack.line, narrator.receipts);
  const planting = fault?.when === 'during' ? fault.plant(stack) : undefined;
  const causeTimes = await play({ database: stack.database, cast, tell: narrator.cause });
  await planting;
  await watch.settled(planned, patienceMs(plant));
  const { executeAt, cancelled } = await readActions(stack, cast);
  const scene = { stack, cast, tell: narrator.cause, tellTime: narrator.time };
  const laterTimes = isWhole ? await playLater(scene, () => watch.settled(story.sources, patienceMs(plant))) : [];
  if (isWhole) await watch.settled(later, patienceMs(plant));
  watch.stop();
  const mornings = { stack, cast, tell: narrator.line, tellTime: narrator.time };
  const lastSeq = isWhole ? await playDailyCycle(mornings) : (watch.receipts.at(-1)?.seq ?? 0);
  await tellWhy(stack, cast, narrator.line);

  const campaigns = await readCampaigns(stack);
  const violations = (await stack.line.violations()).length;
  const verdict = judge({
    planned: new Map([...planned, ...later]),
    cancelledPlanned,
    receipts: watch.receipts,
    causeTimes: new Map([...causeTimes, ...laterTimes]),
    executeAt,
    cancelled,
    waits: await readWaits(stack),
    waitsPlanned: isWhole ? WAITS_PLANNED : { unlocked: 0, expired: 0, late: 0 },
    loops: await readLoops(stack),
    loopsPlanned: isWhole ? LOOPS_PLANNED : 0,
    campaignsSent: campaigns.filter(({ status }) => status === CAMPAIGN_STATUS.sent).length,
    campaignsPlanned: CAMPAIGNS.length,
    violations,
  });
  narrator.result(verdict, { decisions: await readDecisions(stack), campaigns });
  return { verdict, lastSeq };
}

/** Something of each source, then three days. */
async function playLater(scene: WaitingScene, settled: () => Promise<void>): Promise<CauseTimes> {
  const told = await playSources(scene);
  await settled();
  const clock = await startClock(scene);
  return new Map([...told, ...clock, ...(await playWaiting(scene))]);
}

/** Everything that the story needs, without the story. */
async function setScene(stack: Stack, narrator: Narrator): Promise<Told> {
  await seed(stack);
  narrator.line(
    'four accounts with their people, rules and drafts of campaigns are there; nothing happens until you make it',
  );
  return { lastSeq: 0 };
}

/** By the names that commands and apps read. */
const environmentOf = (stack: Stack): Readonly<Record<string, string>> => ({
  DUELINE_DEMO_PID: String(process.pid), // which of several demos the terminal works with
  DATABASE_URL: stack.databaseUrl,
  AMQP_URL: stack.amqpUrl,
  AMQP_MANAGEMENT_URL: stack.amqpManagementUrl,
  REDIS_URL: stack.redisUrl,
  SECRETS_KEY: stack.secretsKey.toString('base64'),
  LINE_API_URL: stack.line.apiUrl,
  LINE_CONTROL_URL: stack.line.controlUrl,
});

async function run(options: Options): Promise<number> {
  const out = options.json ? process.stderr : process.stdout;
  const narrator = createNarrator((text) => out.write(text), { colours: out.isTTY === true });
  const signal = untilInterrupted();
  const interrupted = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
  narrator.line('starting PostgreSQL, RabbitMQ, Redis, the LINE simulator and five apps');
  const starting = startStack({ name: 'demo', env: process.env, channels, tell: narrator.line });
  const stack = await Promise.race([starting, interrupted]);
  if (stack === undefined) {
    narrator.line('stopping what was started; Ctrl-C once more ends it at once');
    await (await starting).stop();
    return 130;
  }
  narrator.line(`everything is up; the apps log to ${stack.logFolder}`);
  const { databaseUrl, line } = stack;
  const environment = environmentOf(stack);
  const retire = announceDemo({ pid: process.pid, databaseUrl, lineControlUrl: line.controlUrl, environment });
  try {
    const begun: Promise<Told> = options.story ? tellStory(stack, options, narrator) : setScene(stack, narrator);
    const told = await Promise.race([begun, interrupted]);
    if (told === undefined) return 130;
    const { verdict, lastSeq } = told;
    if (!options.once) {
      out.write(invitation(stack));
      const watch = watchReceipts(stack.line, narrator.receipts, lastSeq);
      await interrupted;
      watch.stop();
    }
    if (options.json) process.stdout.write(`${JSON.stringify(verdict)}\n`);
    return verdict === undefined || verdict.ok ? 0 : 1;
  } finally {
    retire();
    narrator.line('stopping');
    narrator.hush(); // an interrupted story would go on telling
    await stack.stop();
  }
}

/** Lines for a shell. */
async function printEnvironment(): Promise<number> {
  for (const [name, value] of Object.entries(theDemo(process.env.DUELINE_DEMO_PID).environment))
    process.stdout.write(`export ${name}='${value}'\n`);
  return 0;
}

function readOptions(args: readonly string[]): Options | 'env' | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      once: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      plant: { type: 'string' },
      'no-story': { type: 'boolean', default: false },
      env: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const plant = PLANTS.find((known) => known === values.plant);
  if (values.plant !== undefined && (plant === undefined || !values.once)) {
    throw new Error(plant === undefined ? `--plant takes ${PLANTS.join(', ')}` : '--plant needs --once');
  }
  const story = !values['no-story'];
  if (!story && (values.once || values.json)) throw new Error('--no-story has no verdict: neither --once nor --json');
  if (values.env && args.length > 1) throw new Error('--env goes alone');
  return values.env ? 'env' : { once: values.once, json: values.json, plant, story };
}

// Whoever read our output may be gone (a closed terminal, `| head`): what was started must be stopped in order all the same.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

await runCommand({
  help: HELP,
  read: readOptions,
  run: (options) => (options === 'env' ? printEnvironment() : run(options)),
});
