import { parseArgs } from 'node:util';
import { type Command, untilInterrupted } from '@dueline/demo';
import { cancelInTheMiddle, pauseForAnHour } from './acts.ts';
import { CAMPAIGN_FAULTS } from './plan.ts';
import type { CampaignReport } from './report.ts';
import { type CampaignOptions, runCampaigns } from './run.ts';

const HELP = `usage: ./dueline chaos --campaign --seed N [--recipients N] [--campaigns N] [--faults P] [--kills K]
                       [--latency MS] [--slots N] [--act cancel|pause] [--json]

  Campaigns, the first of them to N people, go out through two processes of each app, while LINE fails and every app is killed K
  times; then everybody is called: what the product says of each, what LINE delivered, and what the campaigns count must agree.
  Exit 0 when nobody is lost, doubled or unexplained and no promise is broken; else 1. The seed repeats the schedule.

  --recipients N  people of the first campaign (20000)    --campaigns N  in all, the others to 1,100 people or all friends (4)
  --faults P      requests to LINE that meet one, in percent (10)        --kills K  deaths of each app (1)
  --latency MS    how long LINE takes for each request (0)
  --slots N       requests that each sender has on their way at once (as many as fit the run)
  --act A         in the middle the first campaign is cancelled, or paused for an hour in which all apps start again
  --json          one JSON object as the last line of standard output; the rest goes to standard error

  Played: ${CAMPAIGN_FAULTS.join(', ')}
`;

const ACTS = { cancel: cancelInTheMiddle, pause: pauseForAnHour() } as const;

const NUMBERS = { seed: undefined, recipients: 20_000, campaigns: 4, faults: 10, latency: 0, slots: 0, kills: 1 };
const LIMITS: Readonly<Record<keyof typeof NUMBERS, readonly [number, number]>> = {
  ...{
    seed: [0, 999_999_999],
    recipients: [1, 5_000_000],
    campaigns: [1, 50],
    faults: [0, 90],
    latency: [0, 900],
    slots: [0, 500],
    kills: [0, 100],
  },
};

type Options = Omit<CampaignOptions, 'env' | 'tell' | 'interrupted'> & { readonly json: boolean };

function readOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ campaign: { type: 'boolean' }, seed: { type: 'string' }, recipients: { type: 'string' } },
      ...{ campaigns: { type: 'string' }, faults: { type: 'string' }, kills: { type: 'string' } },
      ...{ latency: { type: 'string' }, slots: { type: 'string' }, act: { type: 'string' } },
      ...{ json: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
    },
  });
  if (values.help) return 'help';
  const numberOf = (name: keyof typeof NUMBERS): number => {
    const [least, most] = LIMITS[name];
    const text = values[name] ?? String(NUMBERS[name] ?? '');
    if (!/^\d{1,9}$/.test(text) || Number(text) < least || Number(text) > most)
      throw new Error(`--${name} takes a whole number from ${least} to ${most}`);
    return Number(text);
  };
  const act = Object.entries(ACTS).find(([name]) => name === values.act)?.[1];
  if (values.act !== undefined && act === undefined) throw new Error(`--act takes ${Object.keys(ACTS).join(' or ')}`);
  return {
    ...{ act, slots: numberOf('slots') || undefined },
    ...{ seed: numberOf('seed'), recipients: numberOf('recipients'), campaigns: numberOf('campaigns') },
    ...{ share: numberOf('faults') / 100, latencyMs: numberOf('latency'), kills: numberOf('kills') },
    json: values.json,
  };
}

async function run({ json, ...size }: Options, env: NodeJS.ProcessEnv): Promise<number> {
  const out = json ? process.stderr : process.stdout;
  const result = await runCampaigns({
    ...{ ...size, env, interrupted: untilInterrupted() },
    tell: (line) => out.write(`chaos: ${line}\n`),
  });
  for (const line of linesOf(result)) out.write(`${line}\n`);
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.ok ? 0 : 1;
}

function linesOf(result: CampaignReport): string[] {
  return Object.entries(result).flatMap(([name, value]) =>
    typeof value === 'object'
      ? Object.entries(value).map(([key, inner]) => `${`${name}: ${key}`.padEnd(32)} ${JSON.stringify(inner)}`)
      : [`${name.padEnd(32)} ${value}`],
  );
}

/** ./dueline chaos --campaign */
export const campaignCommand = (env: NodeJS.ProcessEnv): Command<Options> => ({
  ...{ help: HELP, read: readOptions },
  run: (options) => run(options, env),
});
