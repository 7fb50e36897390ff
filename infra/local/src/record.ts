import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from './errors.ts';
import type { Machine } from './proc.ts';

/** A process that we started, as the leader of its own process group. */
export interface RecordedServer {
  name: string;
  pid: number;
  /** Field 22 of /proc/<pid>/stat; null where there is no /proc. */
  startTime: string | null;
  endSignal: NodeJS.Signals;
}

/** What a run started, kept on disk so that the next start can end it when the run was killed. */
export interface RunRecord {
  machine: Machine | null;
  starter: { pid: number; startTime: string | null };
  /** Data of the servers; the folder every recorded server works in. */
  folder: string;
  /** Set when the services are containers of this compose project instead. */
  composeProject: string | null;
  servers: RecordedServer[];
}

const FILE = 'servers.json';

export const runsFolder = (stateFolder: string): string => join(stateFolder, 'run');

/** Makes the folder of a run together with its record, so that nobody ever sees one without the other. */
export function createRunFolder({ stateFolder, id, record }: { stateFolder: string; id: string; record: RunRecord }) {
  const unfinished = join(runsFolder(stateFolder), `.${id}`);
  const finished = join(runsFolder(stateFolder), id);
  mkdirSync(unfinished, { recursive: true });
  writeRecord(unfinished, record);
  renameSync(unfinished, finished);
  return finished;
}

export function writeRecord(runFolder: string, record: RunRecord): void {
  const file = join(runFolder, FILE);
  writeFileSync(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** Undefined when the run has just ended and taken its record with it. */
export function readRecord(runFolder: string): RunRecord | undefined {
  try {
    return JSON.parse(readFileSync(join(runFolder, FILE), 'utf8')) as RunRecord;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
