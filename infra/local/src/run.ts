import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Account, serverAccount } from './account.ts';
import { LocalServicesError } from './errors.ts';
import { readStat, signal, thisMachine } from './proc.ts';
import { endServer, isRunning, type LaunchOptions, type ServerProcess, spawnServer } from './processes.ts';
import { createRunFolder, type RunRecord, runsFolder, writeRecord } from './record.ts';

/** Everything one start has on this machine: folders and processes, recorded on disk so that a killed run can be swept. */
export interface Run {
  /** A new empty folder that only the servers' account may enter. */
  makeFolder(name: string): string;
  /** Writes a file that the servers' account alone may read. */
  writeFile(file: string, text: string): void;
  launch(options: LaunchOptions): ServerProcess;
  /** Ends every process and removes the data. Later calls wait for the first. */
  end(): Promise<void>;
}

export function openRun({ stateFolder, path }: { stateFolder: string; path: string }): Run {
  const account = serverAccount();
  const { runFolder, record } = registerRun(stateFolder, { account, composeProject: null });
  const { folder } = record;
  const processes: ServerProcess[] = [];
  let ending: Promise<void> | undefined;

  // When the starter fails before end(): the processes at least go with it, and the next start removes the folder.
  const lastResort = () => {
    for (const { child, endSignal } of processes.filter(isRunning)) {
      if (child.pid !== undefined) signal(endSignal === 'SIGKILL' ? -child.pid : child.pid, endSignal);
    }
  };
  process.once('exit', lastResort);

  const endAll = async () => {
    await Promise.all(processes.map(endServer));
    process.off('exit', lastResort);
    removeRun(runFolder, folder);
  };
  return {
    makeFolder(name) {
      const made = join(folder, name);
      mkdirSync(made, { mode: 0o700 });
      if (account) chownSync(made, account.uid, account.gid);
      return made;
    },
    writeFile(file, text) {
      writeFileSync(file, text, { mode: 0o600 });
      if (account) chownSync(file, account.uid, account.gid);
    },
    launch(options) {
      if (ending) throw new LocalServicesError(`${options.name} was not started: the run is ending`);
      const server = spawnServer(options, { account, path });
      processes.push(server);
      const { pid } = server.child;
      if (pid === undefined) return server;
      record.servers.push({
        name: options.name,
        pid,
        startTime: readStat(pid)?.startTime ?? null,
        endSignal: server.endSignal,
      });
      writeRecord(runFolder, record);
      return server;
    },
    end: () => {
      ending ??= endAll();
      return ending;
    },
  };
}

/** Records on disk that this process is about to start something. */
export function registerRun(
  stateFolder: string,
  { account, composeProject }: { account: Account | undefined; composeProject: string | null },
): { runFolder: string; record: RunRecord } {
  const id = `${process.pid}-${randomBytes(4).toString('hex')}`;
  mkdirSync(stateFolder, { recursive: true });
  const home = realpathSync(stateFolder); // the sweep compares with what the kernel says, which knows no links
  const own = join(runsFolder(home), id);
  const record: RunRecord = {
    machine: thisMachine() ?? null,
    starter: { pid: process.pid, startTime: readStat(process.pid)?.startTime ?? null },
    folder: suitsServers(dirname(own), account)
      ? own
      : mkdtempSync(join(realpathSync(temporaryFolder(account)), 'dueline-')),
    composeProject,
    servers: [],
  };
  const runFolder = createRunFolder({ stateFolder: home, id, record });
  // Whatever the umask is, the servers' account must get through to the folders below, which are its own.
  if (account) chmodSync(record.folder, 0o755);
  return { runFolder, record };
}

/** The record goes last: should removing stop half-way, the next sweep finishes it. */
export function removeRun(runFolder: string, folder: string): void {
  for (const gone of new Set([folder, runFolder])) {
    rmSync(gone, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

/** RabbitMQ's scripts do not survive spaces, Unix paths are short, and another account must be able to enter every parent. */
function suitsServers(folder: string, account: Account | undefined): boolean {
  return /^[\w./+-]{1,160}$/.test(folder) && (account === undefined || mayBeEntered(folder));
}

function temporaryFolder(account: Account | undefined): string {
  return suitsServers(tmpdir(), account) ? tmpdir() : '/tmp';
}

function mayBeEntered(folder: string): boolean {
  const stat = statSync(folder, { throwIfNoEntry: false });
  if (stat && (stat.mode & 0o001) === 0) return false;
  return folder === dirname(folder) || mayBeEntered(dirname(folder));
}
