import { readFileSync } from 'node:fs';
import { LocalServicesError } from './errors.ts';

/** The account that servers run under. */
export interface Account {
  uid: number;
  gid: number;
}

/** `nobody` when we are root, because PostgreSQL refuses root and no server needs it; undefined to stay who we are. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((row) => row.startsWith('nobody:'));
  const fields = line?.split(':');
  if (!fields) throw new LocalServicesError('there is no account "nobody" to run servers under: run as a normal user');
  return { uid: Number(fields[2]), gid: Number(fields[3]) };
}
