import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Zones of the host: none, two on either side of the one under test whose clocks are moved, and one whose are not. */
export const HOST_ZONES = ['UTC', 'Europe/London', 'Asia/Bangkok', 'America/Santiago'] as const;

/** Which changes of the clocks a process looks at, and how thoroughly. */
export interface FuzzOrder {
  /** Undefined: all that there are. */
  readonly zones?: readonly string[] | undefined;
  readonly from: string;
  readonly until: string;
  readonly oneIn: number;
  readonly first: number;
  readonly seconds: number;
}

export interface FuzzReport {
  readonly hostZone: string;
  readonly changes: number;
  readonly looks: number;
  /** At most twenty. */
  readonly wrong: readonly string[];
}

const PROGRAM = fileURLToPath(new URL('./main.ts', import.meta.url));

/** Runs the fuzz in a process whose host lies in that zone. */
export async function fuzzUnder(hostZone: string, orders: readonly FuzzOrder[]): Promise<FuzzReport> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, JSON.stringify(orders)], {
    env: { TZ: hostZone },
  });
  return JSON.parse(stdout);
}
