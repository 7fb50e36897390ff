import { parseArgs } from 'node:util';
import { runCommand, untilInterrupted } from '@dueline/demo';
import type { Report } from './report.ts';
import { PROFILES, type Profile, run } from './run.ts';
import { runWithoutFence } from './without-fence.ts';

const HELP = `usage: ./dueline stress --seed N [--json] [--profile ${PROFILES.join('|')}] [--no-fence]
                       [--actions N] [--processes N] [--kills N] [--stops N] [--messages N]

  Schedules 20,000 actions while processes are killed and frozen, messages are lost and repeated, and people change what waits;
  then compares everything with what had to happen. Exit 0 when there is no violation, else 1. The seed repeats the schedule.

  --json         one JSON object as the last line of standard output; the rest goes to standard error
  --profile P    who claims what is due: queue, inline, or both (default)
  --no-fence     in a copy of the sources that compares no fence: there must be violations
  --actions N    actions in all (20000)         --processes N  processes in each role (4)
  --kills N      kill -9 of some process (20)   --stops N      freezes for longer than the lease (10)
  --messages N   messages lost or repeated (500)
`;

const NUMBERS = { actions: 20_000, processes: 4, kills: 20, stops: 10, messages: 500 };
type Numbers = Record<keyof typeof NUMBERS | 'seed', number>;
type Options = Numbers & { readonly json: boolean; readonly fence: boolean; readonly profile: Profile };

function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ seed: { type: 'string' }, actions: { type: 'string' }, processes: { type: 'string' } },
      ...{ kills: { type: 'string' }, stops: { type: 'string' }, messages: { type: 'string' } },
      ...{ profile: { type: 'string', default: 'both' }, 'no-fence': { type: 'boolean', default: false } },
      ...{ json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
    },
  });
  if (values.help) return 'help';
  const numberOf = (name: keyof Numbers, least: number): number => {
    const text = values[name] ?? (name === 'seed' ? undefined : String(NUMBERS[name]));
    if (text === undefined || !/^\d{1,9}$/.test(text) || Number(text) < least)
      throw new Error(`--${name} takes a whole number, ${least} at least`);
    return Number(text);
  };
  const profile = PROFILES.find((known) => known === values.profile);
  if (profile === undefined) throw new Error(`--profile takes ${PROFILES.join(', ')}`);
  return {
    ...{ seed: numberOf('seed', 0), actions: numberOf('actions', 1), processes: numberOf('processes', 1) },
    ...{ kills: numberOf('kills', 0), stops: numberOf('stops', 0), messages: numberOf('messages', 0) },
    ...{ profile, json: values.json, fence: !values['no-fence'] },
  };
}

async function stress(args: readonly string[], options: Options): Promise<number> {
  if (!options.fence)
    return runWithoutFence(
      args.filter((arg) => arg !== '--no-fence'),
      process.env,
    );
  const out = options.json ? process.stderr : process.stdout;
  const tell = (line: string) => out.write(`stress: ${line}\n`);
  const result = await run({ ...options, env: process.env, tell, interrupted: untilInterrupted() });
  for (const line of linesOf(result)) out.write(`${line}\n`);
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.violations === 0 ? 0 : 1;
}

function linesOf({ samples, operations, refused, ...counts }: Report): string[] {
  const linesFor = (numbers: object, prefix = '') =>
    Object.entries(numbers).map(([name, value]) => `${`${prefix}${name}`.padEnd(26)} ${value}`);
  const found = Object.entries(samples).flatMap(([name, lines]) => [`${name}:`, ...lines.map((line) => `  ${line}`)]);
  return [...linesFor(counts), ...linesFor(operations, 'people: '), ...linesFor(refused, 'refused: '), ...found];
}

await runCommand({ help: HELP, read: readOptions, run: (options) => stress(process.argv.slice(2), options) });
