import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type EvidenceRequest, verifyEvidence, writeEvidence } from '@dueline/campaigns';
import { retryKey } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import { UsageError } from '../actions/command-line.ts';
import { fileProblem } from '../file-problem.ts';
import { type PersonDeps, tellProblem } from '../person-command.ts';
import { count } from './count.ts';
import { idOf, type Subcommand } from './subcommand.ts';

export const evidenceSubcommand: Subcommand = {
  takes: '<id>',
  about: 'every request with its key, its times and the ids of LINE, as lines of JSON with a hash; > file keeps it',
  workOf(typed) {
    const campaignId = idOf(typed);
    return async (db, account) => {
      let last = '';
      const write = (line: string) => {
        if (last !== '') typed.print(last);
        last = line;
      };
      if ((await writeEvidence(db, account, { campaignId, write })) === undefined)
        throw new PermanentError(`there is no campaign ${campaignId} in account ${account.lineOaId}`);
      return { json: JSON.parse(last), lines: [last], isWhole: true };
    };
  },
};

/** What the help says of `verify-evidence`, which asks no database. */
export const VERIFY_EVIDENCE = {
  takes: '<file>',
  about: 'checks such a file: its hash, totals, keys, that nobody is missing or counted twice',
} as const;

const keyOf = ({ channelId, campaignId, epoch, endpoint, chunkNo, splitPath }: EvidenceRequest): string =>
  retryKey({ channelId, kind: 'campaign', logicalId: campaignId, epoch, endpoint, ordinal: chunkNo, splitPath });

/** Runs `dueline campaigns verify-evidence <file>`, which needs nothing but the file. */
export async function runVerifyEvidence(deps: PersonDeps, args: readonly string[]): Promise<0 | 1 | 2> {
  const [file, ...others] = args;
  try {
    if (file === undefined || others.length > 0) throw new UsageError('verify-evidence needs one file');
    const { campaignId, totals, problems } = await verifyEvidence(linesOf(file), { keyOf });
    if (problems.length > 0) {
      for (const problem of problems) deps.printError(problem);
      return 1;
    }
    const people = Object.entries(totals.people ?? {}).filter(([, n]) => n > 0);
    deps.print(
      `campaign ${campaignId}: ${count(totals.requests, 'request')}, all in order; ${
        totals.people === null
          ? 'a broadcast, whose people LINE alone knows'
          : people.map(([end, n]) => `${end} ${n.toLocaleString('en')}`).join(', ')
      }`,
    );
    return 0;
  } catch (error) {
    return tellProblem(deps, { name: 'campaigns', args }, error);
  }
}

async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    const problem = fileProblem(error);
    throw problem === undefined ? error : new PermanentError(`${file} cannot be read: ${problem}`);
  }
}
