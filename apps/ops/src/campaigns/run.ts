import { UsageError } from '../actions/command-line.ts';
import { type PersonDeps, runForPerson, tellProblem } from '../person-command.ts';
import { runVerifyEvidence, VERIFY_EVIDENCE } from './evidence.ts';
import type { Subcommand } from './subcommand.ts';
import { SUBCOMMANDS } from './subcommands.ts';

const line = (left: string, right: string) => `  ${left.padEnd(30)}${right}`;

const HELP = `usage: dueline campaigns <subcommand> [<id>] [options]

${Object.entries({ ...SUBCOMMANDS, 'verify-evidence': VERIFY_EVIDENCE })
  .map(([name, { takes, about }]) => line(`${name} ${takes}`.trimEnd(), about))
  .join('\n')}

all:  --account <id>   the LINE account; needed when there are several
      --json           one JSON object instead of text
Times are like 2026-12-24T18:00:00+09:00. \`dueline campaigns <subcommand> --help\` tells the options of one.

exit code: 0 done, 1 not or not all of it done, 2 not understood.`;

function helpOf(name: string, { takes, about, options = {}, lists = {}, flags = {} }: Subcommand): string {
  const texts = Object.entries({ ...options, ...lists }).map(([option, [what, says]]) =>
    line(`--${option} ${what}`, says),
  );
  const marks = Object.entries(flags).map(([flag, says]) => line(`--${flag}`, says));
  return [`usage: dueline campaigns ${name} ${takes}`.trimEnd(), '', about, '', ...texts, ...marks]
    .concat([line('--account <id>', 'the LINE account; needed when there are several')])
    .concat([line('--json', 'one JSON object instead of text')])
    .join('\n');
}

/** Runs `dueline campaigns …` and returns its exit code: 0 done, 1 not or not all of it done, 2 not understood. */
export async function runCampaigns(deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> {
  const [name, ...rest] = args;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    deps.print(HELP);
    return 0;
  }
  if (name === 'verify-evidence') return runVerifyEvidence(deps, rest);
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (subcommand === undefined)
    return tellProblem(deps, { name: 'campaigns', args }, new UsageError(`there is no command ${name}`));
  return runForPerson(deps, [name, ...rest], {
    name: `campaigns ${name}`,
    help: helpOf(name, subcommand),
    options: Object.keys(subcommand.options ?? {}),
    lists: Object.keys(subcommand.lists ?? {}),
    flags: Object.keys(subcommand.flags ?? {}),
    workOf: ({ positionals: [, ...ids], ...words }) =>
      subcommand.workOf({ ...words, ids, login: deps.login, print: deps.print }),
  });
}
