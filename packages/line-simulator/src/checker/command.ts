import { createReadStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { errorText } from '@dueline/kernel';
import { checkHistory, type HistoryReport } from './check-history.ts';
import type { CheckOptions, ExportRecord } from './export-format.ts';
import { ledgerOfFolder, ledgerOfSimulator, readExport } from './jsonl.ts';

const USAGE =
  'usage: line-simulator check --ledger <folder or control URL> --export <file or -> [--seed <text>]\n' +
  '         [--faults-ended-at <instant>] [--ended-at <instant>] [--settle-within-ms <n>] [--attempt-timeout-ms <n>]\n' +
  '         [--findings-each <n>] [--json]';

/** Runs `line-simulator check`; returns the exit code: 0 all hold, 1 findings, 2 could not be checked. */
export async function runCheckCommand(args: readonly string[], print: (text: string) => void): Promise<0 | 1 | 2> {
  try {
    const { ledger, records, json, options } = readArgs(args);
    const report = await checkHistory({
      ledger: /^https?:\/\//.test(ledger) ? ledgerOfSimulator(ledger.replace(/\/$/, '')) : ledgerOfFolder(ledger),
      records: readExportFile(records),
      ...options,
    });
    print(json ? `${JSON.stringify(report)}\n` : describeReport(report));
    return report.ok ? 0 : 1;
  } catch (error) {
    print(`${errorText(error)}\n${USAGE}\n`);
    return 2;
  }
}

/** Opened when it is asked for, which is after the ledger: a stream that fails before anyone listens ends the process. */
async function* readExportFile(file: string): AsyncGenerator<ExportRecord> {
  yield* readExport(file === '-' ? process.stdin : createReadStream(file));
}

function readArgs(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      ledger: text,
      export: text,
      seed: text,
      'faults-ended-at': text,
      'ended-at': text,
      'settle-within-ms': text,
      'attempt-timeout-ms': text,
      'findings-each': text,
      json: { type: 'boolean', default: false },
    },
  });
  if (values.ledger === undefined || values.export === undefined)
    throw new TypeError('--ledger and --export are needed');
  const options: CheckOptions = {
    seed: values.seed,
    faultsEndedAt: values['faults-ended-at'],
    endedAt: values['ended-at'],
    settleWithinMs: values['settle-within-ms'],
    attemptTimeoutMs: values['attempt-timeout-ms'],
    findingsEach: values['findings-each'],
  };
  return { ledger: values.ledger, records: values.export, json: values.json, options };
}

function describeReport({ ok, counts, skipped, checked, findings }: HistoryReport): string {
  const lines = [
    `checked ${Object.entries(checked)
      .map(([what, count]) => `${count} ${what}`)
      .join(', ')}`,
  ];
  for (const { invariant, sentence, accepts, attempts, faultIds, seed } of findings) {
    lines.push(`${invariant}: ${sentence}`);
    for (const accept of accepts) {
      const dropped = accept.dropped ? ' and dropped' : '';
      lines.push(`  accepted${dropped} at ${accept.at} under ${accept.retryKey ?? 'no key'} as ${accept.requestId}`);
    }
    for (const { startedAt, retryKey, outcome, requestId } of attempts) {
      lines.push(
        `  attempt at ${startedAt} under ${retryKey ?? 'no key'}: ${outcome ?? 'no outcome'} ${requestId ?? ''}`,
      );
    }
    if (faultIds.length > 0) lines.push(`  faults ${faultIds.join(', ')}`);
    if (seed !== null) lines.push(`  again with --seed ${seed}`);
  }
  const broken = Object.entries(counts).filter(([, count]) => count > 0);
  if (skipped.length > 0) lines.push(`not checked: ${skipped.join(', ')}`);
  lines.push(ok ? 'every invariant holds' : `broken: ${broken.map(([id, count]) => `${id} (${count})`).join(', ')}`);
  return `${lines.join('\n')}\n`;
}
