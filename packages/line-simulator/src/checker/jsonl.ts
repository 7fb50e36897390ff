import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { PermanentError } from '@dueline/kernel';
import type { AcceptRow, ReceiptRow, RequestRow, ViolationRow } from '../ledger/ledger.ts';
import { type ExportRecord, exportRecord } from './export-format.ts';
import type { LedgerSource } from './ledger-source.ts';

/** Reads an export, one record a line. @throws PermanentError that names the first line that is none. */
export async function* readExport(stream: Readable): AsyncGenerator<ExportRecord> {
  let line = 0;
  for await (const value of readLines(stream)) {
    line += 1;
    const record = exportRecord.safeParse(value);
    if (!record.success) {
      const [issue] = record.error.issues;
      const problem = `${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim();
      throw new PermanentError('a line of the export is no record', { context: { line, problem } });
    }
    yield record.data;
  }
}

/** The files requests.jsonl, accepts.jsonl, receipts.jsonl and violations.jsonl of a folder. */
export function ledgerOfFolder(folder: string): LedgerSource {
  return ledgerOf(async (table) => createReadStream(join(folder, `${table}.jsonl`)));
}

/** The ledger of a simulator that runs somewhere else. @param controlUrl Base URL of its control API. */
export function ledgerOfSimulator(controlUrl: string): LedgerSource {
  return ledgerOf(async (table) => {
    const response = await fetch(`${controlUrl}/__sim/ledger/${table}?format=jsonl`);
    if (!response.ok || response.body === null) {
      throw new PermanentError('the ledger cannot be read', { context: { status: response.status } });
    }
    return Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
  });
}

function ledgerOf(open: (table: string) => Promise<Readable>): LedgerSource {
  return {
    requests: () => readRows<RequestRow>(open, 'requests'),
    accepts: () => readRows<AcceptRow>(open, 'accepts'),
    receipts: () => readRows<ReceiptRow>(open, 'receipts'),
    violations: () => readRows<ViolationRow>(open, 'violations'),
  };
}

async function* readRows<Row>(open: (table: string) => Promise<Readable>, table: string): AsyncGenerator<Row> {
  // The simulator wrote these; what is missing among them is noticed by the numbers of the rows.
  for await (const value of readLines(await open(table))) yield value as Row;
}

async function* readLines(stream: Readable): AsyncGenerator<unknown> {
  // An error of the stream does not reach the reader of its lines by itself.
  let failed: Error | undefined;
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  stream.once('error', (error: Error) => {
    failed = error;
    lines.close();
  });
  let number = 0;
  for await (const line of lines) {
    number += 1;
    if (line === '') continue;
    yield parseLine(line, number);
  }
  if (failed !== undefined) throw failed;
}

function parseLine(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PermanentError('a line is no JSON', { cause: error, context: { line } });
  }
}
