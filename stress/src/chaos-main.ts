import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { runCommand, untilInterrupted } from '@dueline/demo';
import { campaignCommand } from './campaigns/command.ts';
import { PLANTS, type Plant, runWithMistake } from './chaos/plants.ts';
import type { ChaosReport } from './chaos/report.ts';
import { runChaos } from './chaos/run.ts';

const HELP = `usage: ./dueline chaos --seed N [--minutes M] [--json] [--export FILE] [--plant ${PLANTS.join('|')}]

  The real apps work against a LINE that fails in every way it is known to fail, while they are killed and frozen and a day passes;
  then LINE is well again, and what the product says of every recipient is compared with what LINE delivered. Exit 0 when everybody
  got it once, or is known not to have got it, or is told to be in doubt; else 1. The seed repeats the schedule.

  --minutes M    how long LINE fails (1)
  --json         one JSON object as the last line of standard output; the rest goes to standard error
  --export FILE  writes what the product says, one JSON record a line, as 'line-simulator check' takes it
  --plant P      something wrong on purpose, which must be found: a LINE that forgets keys, a new key for each attempt, or blaming
                 everybody whom LINE refuses

  With --campaign, campaigns to many people: see './dueline chaos --campaign --help'.
`;

interface Options {
  readonly seed: number;
  readonly minutes: number;
  readonly json: boolean;
  readonly file: string | undefined;
  readonly plant: Plant | undefined;
}

function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ seed: { type: 'string' }, minutes: { type: 'string', default: '1' } },
      ...{ export: { type: 'string' }, plant: { type: 'string' }, json: { type: 'boolean', default: false } },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const { seed = '', minutes, plant } = values;
  if (!/^\d{1,9}$/.test(seed)) throw new Error('--seed takes a whole number');
  if (!/^\d{1,3}(\.\d+)?$/.test(minutes) || Number(minutes) === 0)
    throw new Error('--minutes takes a number above 0 and below 1000');
  const known = PLANTS.find((name) => name === plant);
  if (plant !== undefined && known === undefined) throw new Error(`--plant takes ${PLANTS.join(' or ')}`);
  return { seed: Number(seed), minutes: Number(minutes), json: values.json, file: values.export, plant: known };
}

async function chaos(args: readonly string[], { seed, minutes, json, file, plant }: Options): Promise<number> {
  if (plant === 'random-keys' || plant === 'hasty-blame')
    return runWithMistake(plant, {
      args: args.filter((arg) => !arg.includes(plant) && arg !== '--plant'),
      env: process.env,
    });
  const out = json ? process.stderr : process.stdout;
  const kept = file === undefined ? undefined : createWriteStream(file);
  const result = await runChaos({
    ...{ seed, minutes, env: process.env, forgetsKeys: plant === 'amnesia', interrupted: untilInterrupted() },
    tell: (line) => out.write(`chaos: ${line}\n`),
    keep: (record) => kept?.write(`${JSON.stringify(record)}\n`),
  });
  kept?.end();
  if (kept !== undefined) await finished(kept);
  for (const line of linesOf(result)) out.write(`${line}\n`);
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.ok ? 0 : 1;
}

function linesOf({ samples, states, faults, invariants, violations, ...counts }: ChaosReport): string[] {
  const linesFor = (numbers: object, prefix = '') =>
    Object.entries(numbers).map(([name, value]) => `${`${prefix}${name}`.padEnd(26)} ${value}`);
  const found = [
    ...samples.findings.map(({ invariant, sentence }) => `${invariant}: ${sentence}`),
    ...samples.unexplained.map((what) => `unexplained: ${what}`),
    ...samples.wronged.map((what) => `wronged: ${what}`),
    ...samples.withoutMenu.map((what) => `without their menu: ${what}`),
    ...samples.open.map((what) => `open: ${what}`),
    ...samples.ended.map((what) => `ended: ${what}`),
  ];
  return [
    ...[...linesFor(counts), ...linesFor(states, 'state: '), ...linesFor(faults, 'fault: ')],
    ...[...linesFor(violations, 'violation: '), ...linesFor(invariants, 'broken: '), ...found],
    `again: ./dueline chaos --seed ${counts.seed} --minutes ${counts.minutes}`,
  ];
}

await (process.argv.includes('--campaign')
  ? runCommand(campaignCommand(process.env))
  : runCommand({ help: HELP, read: readOptions, run: (options) => chaos(process.argv.slice(2), options) }));
