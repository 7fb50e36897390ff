import { existsSync, readdirSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { sleep } from '@dueline/kernel';
import { endComposeProject } from './compose.ts';
import { messageOf } from './errors.ts';
import { groupMembers, hasProc, isZombie, mayBeAlive, readStat, signal, thisMachine, workingFolder } from './proc.ts';
import { PATIENCE_MS } from './processes.ts';
import { type RecordedServer, type RunRecord, readRecord, runsFolder } from './record.ts';
import { removeRun } from './run.ts';

/**
 * Ends what killed runs left behind and removes their data. Returns one line for each thing it ended, or could not judge.
 *
 * A process is ended only when its pid, its start time and its working folder are the recorded ones and the process that
 * started it is gone, so live runs and strangers are safe. Any number of sweeps may run at once.
 */
export async function sweepStale(stateFolder: string): Promise<string[]> {
  const lines = await Promise.all(staleRuns(stateFolder).map(sweepRun));
  return lines.flat();
}

/** A run whose starter is gone. */
export interface StaleRun {
  runFolder: string;
  record: RunRecord;
}

export function staleRuns(stateFolder: string): StaleRun[] {
  const folder = runsFolder(resolve(stateFolder));
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((id) => !id.startsWith('.'))
    .flatMap((id) => {
      const runFolder = join(folder, id);
      const record = readRecord(runFolder);
      return record && isStale(record) ? [{ runFolder, record }] : [];
    });
}

function isStale({ machine, starter }: RunRecord): boolean {
  const here = thisMachine();
  if (machine && here) {
    if (machine.bootId !== here.bootId) return true; // the restart ended everything
    if (machine.pidNamespace !== here.pidNamespace) return false; // another container: its pids mean nothing here
  }
  if (!mayBeAlive(starter.pid)) return true;
  const stat = readStat(starter.pid);
  return stat !== undefined && (isZombie(stat) || (starter.startTime !== null && stat.startTime !== starter.startTime));
}

async function sweepRun({ runFolder, record }: StaleRun): Promise<string[]> {
  if (record.composeProject !== null) return sweepCompose({ runFolder, record }, record.composeProject);
  const ended: string[] = [];
  for (const server of record.servers) {
    if (!hasMembers(server)) continue;
    if (!hasProc() || server.startTime === null) {
      return [
        ...ended,
        `cannot tell whether process ${server.pid} is the ${server.name} of a killed run: /proc is or was not mounted`,
      ];
    }
    if (!isOurs(server, record)) continue;
    await endGroup(server);
    ended.push(`${server.name} (process ${server.pid})`);
  }
  removeRun(runFolder, record.folder);
  return ended;
}

async function sweepCompose({ runFolder, record }: StaleRun, project: string): Promise<string[]> {
  try {
    await endComposeProject(project);
  } catch (error) {
    return [`the containers of ${project} could not be removed: ${messageOf(error)}`]; // no reason not to start new ones
  }
  removeRun(runFolder, record.folder);
  return [`the containers of ${project}`];
}

const hasMembers = ({ pid }: RecordedServer): boolean => (hasProc() ? groupMembers(pid).length > 0 : mayBeAlive(-pid));

/** The kernel gives no pid away while a group has it, so a group whose leader is gone is still the recorded one. */
function isOurs({ pid, startTime }: RecordedServer, { machine, folder }: RunRecord): boolean {
  if (machine?.bootId !== thisMachine()?.bootId) return false;
  const leader = readStat(pid);
  if (leader && leader.startTime !== startTime) return false;
  return groupMembers(pid).some((member) => workingFolder(member)?.startsWith(folder + sep));
}

async function endGroup({ pid, endSignal }: RecordedServer): Promise<void> {
  signal(endSignal === 'SIGKILL' ? -pid : pid, endSignal);
  const deadline = performance.now() + PATIENCE_MS;
  while (groupMembers(pid).length > 0) {
    if (performance.now() > deadline) signal(-pid, 'SIGKILL');
    await sleep(20);
  }
}
