import { hasTimeMachine, openDatabase, readProductTime } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { parseDuration } from './duration.ts';
import { type RunningDemo, theDemo } from './stack/running.ts';
import { lineControl } from './stack/simulator.ts';
import { travel } from './stack/travel.ts';

const HELP = `usage: ./dueline time [+3d | +2h30m | +45s]

  Moves the time of the running demo ahead, for the product and the simulated LINE together; without an argument says where it
  stands. Time only moves forward. Returns when everything that came due by it has been claimed.
`;

const [argument, ...more] = process.argv.slice(2);

if (argument === 'help' || argument === '--help' || argument === '-h') process.stdout.write(HELP);
else {
  try {
    if (more.length > 0) throw new PermanentError(`one argument at most\n\n${HELP}`);
    const seconds = argument === undefined ? undefined : parseDuration(argument);
    process.stdout.write(`${await moveTime(theDemo(process.env.DUELINE_DEMO_PID), seconds)}\n`);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

async function moveTime({ databaseUrl, lineControlUrl }: RunningDemo, seconds: number | undefined): Promise<string> {
  const { db, close } = openDatabase({
    url: databaseUrl,
    applicationName: 'time',
    maxConnections: 2,
    onError: () => undefined, // the statement in hand throws
  });
  try {
    if (!(await hasTimeMachine(db))) throw new PermanentError('time of this database cannot be moved');
    const { now } =
      seconds === undefined ? await readProductTime(db) : await travel(db, lineControl(lineControlUrl), seconds);
    return `it is ${now.replace('T', ' ').replace('Z', ' UTC')}`;
  } finally {
    await close();
  }
}
