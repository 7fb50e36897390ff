import { CAMPAIGN_STATUS } from '@dueline/contracts';
import { openDatabase } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { judge, type Verdict } from './judge.ts';
import { createNarrator } from './narrate.ts';
import { readActions, readCampaigns, readDecisions, readWaits, watchReceipts } from './observe.ts';
import { planStory } from './plan.ts';
import { play } from './play.ts';
import { channels, seed } from './seed.ts';
import { connectSimulator } from './stack/simulator.ts';
import { CAMPAIGNS } from './story.ts';

const HELP = `usage: DATABASE_URL=… SECRETS_KEY=… LINE_CONTROL_URL=… node src/scene-main.ts

  Plays the first scene of the demo once on a Dueline that runs already, with its database, its key and the control API of its
  simulated LINE, and checks it: exit 0 when all is as planned. The last line is the verdict as JSON.
`;

/** How long the last message may take: intervals are those of production here. */
const PATIENCE_MS = 600_000;

const needed = (name: 'DATABASE_URL' | 'SECRETS_KEY' | 'LINE_CONTROL_URL'): string => {
  const value = process.env[name];
  if (!value) throw new PermanentError(`${name} is missing\n\n${HELP}`);
  return value;
};

async function playScene(): Promise<Verdict> {
  const secretsKey = Buffer.from(needed('SECRETS_KEY'), 'base64');
  const line = connectSimulator(needed('LINE_CONTROL_URL'));
  const narrator = createNarrator((text) => process.stdout.write(text), { colours: false });
  const database = openDatabase({
    url: needed('DATABASE_URL'),
    applicationName: 'demo',
    maxConnections: 4,
    onError: (error) => narrator.line(`database: ${error instanceof Error ? error.message : 'connection broke'}`),
  });
  const watch = watchReceipts(line, narrator.receipts);
  try {
    await line.open(channels);
    const cast = await seed({ database, secretsKey });
    narrator.line('four organizations with their people, rules and campaigns are there; the scene begins');
    const { receipts: planned, cancelled: cancelledPlanned } = planStory();
    const causeTimes = await play({ database, cast, tell: narrator.cause });
    await watch.settled(planned, PATIENCE_MS);
    const campaigns = await readCampaigns({ database });
    const verdict = judge({
      ...{ planned, cancelledPlanned, causeTimes, receipts: watch.receipts },
      ...(await readActions({ database }, cast)),
      ...{ waits: await readWaits({ database }), waitsPlanned: { unlocked: 0, expired: 0, late: 0 } },
      ...{ loops: 0, loopsPlanned: 0 },
      campaignsSent: campaigns.filter(({ status }) => status === CAMPAIGN_STATUS.sent).length,
      campaignsPlanned: CAMPAIGNS.length,
      violations: (await line.violations()).length,
    });
    narrator.result(verdict, { decisions: await readDecisions({ database }), campaigns });
    return verdict;
  } finally {
    watch.stop();
    await database.close();
  }
}

try {
  const verdict = await playScene();
  process.stdout.write(`${JSON.stringify(verdict)}\n`);
  process.exitCode = verdict.ok ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
