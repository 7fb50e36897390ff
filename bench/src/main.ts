import { parseArgs } from 'node:util';
import { runCommand, untilInterrupted } from '@dueline/demo';
import { readCircumstances } from './measure/machine.ts';
import { setStage } from './product/stage.ts';
import { recordReport } from './record.ts';
import { describeReport, makeReport, type Report } from './report.ts';
import { type BenchOptions, judge, type Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios/index.ts';

const HELP = `usage: ./dueline bench <scenario> [--peers] [--json] [--rounds N] [--scale S] [--record]

  Measures on servers of its own that are set as in production (every commit on the disk), with our apps as they are installed.
  Exit 0 when nothing was lost or doubled and no floor was missed, else 1.

${SCENARIOS.map(({ name, brief }) => `  ${name.padEnd(14)} ${brief}`).join('\n')}

  --peers      graphile-worker, pg-boss, BullMQ (AOF) and plain SQL beside ours, in the same rounds:
               ${SCENARIOS.filter(({ hasPeers }) => hasPeers)
                 .map(({ name }) => name)
                 .join(', ')}
  --json       one JSON object as the last line of standard output; the rest goes to standard error
  --rounds N   quiet rounds of each (3); a round in which others used more than 15 % of the machine is repeated
  --scale S    so much of the work, to try the bench itself, e.g. 0.01 (1); floors are for the whole
  --record     writes the tables into docs/performance.md
`;

interface Options extends Omit<BenchOptions, 'interrupted'> {
  readonly scenario: Scenario;
  readonly json: boolean;
  readonly record: boolean;
}

function readOptions(args: readonly string[]): Options | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...{ peers: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
      ...{ rounds: { type: 'string', default: '3' }, scale: { type: 'string', default: '1' } },
      ...{ record: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
    },
  });
  if (values.help || positionals.length === 0) return 'help';
  const [name, ...rest] = positionals;
  const scenario = SCENARIOS.find((known) => known.name === name);
  if (scenario === undefined) throw new Error(`there is no scenario "${name}"`);
  if (rest.length > 0) throw new Error(`one scenario at a time; "${rest.join(' ')}" is too much`);
  if (!/^[1-9]\d?$/.test(values.rounds)) throw new Error('--rounds takes a whole number from 1 to 99');
  if (values.peers && !scenario.hasPeers) throw new Error(`"${name}" measures no other queues`);
  const scale = Number(values.scale);
  if (!(scale > 0 && scale <= 1)) throw new Error('--scale takes a number above 0, 1 at most');
  const { peers, json, record } = values;
  return { scenario, peers, json, record, rounds: Number(values.rounds), scale };
}

async function bench(options: Options, command: string): Promise<Report> {
  const { scenario } = options;
  const tell = (line: string) => process.stderr.write(`bench: ${line}\n`);
  const stage = await setStage(process.env, tell);
  try {
    const standings = await scenario.run(stage, { ...options, interrupted: untilInterrupted() });
    const circumstances = await readCircumstances(stage.services.urls);
    const findings = options.scale === 1 ? judge(standings, scenario.expectations) : []; // less work is another figure
    return makeReport(scenario, { command, circumstances, standings, findings });
  } finally {
    await stage.services.stop();
  }
}

const args = process.argv.slice(2);
await runCommand({
  help: HELP,
  read: readOptions,
  run: async (options) => {
    const words = args.filter((arg) => arg !== '--record' && arg !== '--json');
    const report = await bench(options, ['./dueline bench', ...words].join(' '));
    const text = describeReport(options.scenario, report);
    (options.json ? process.stderr : process.stdout).write(`${text}\n`);
    if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`);
    if (options.record) recordReport(report.scenario, text);
    return report.ok ? 0 : 1;
  },
});
