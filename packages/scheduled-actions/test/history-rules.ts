import { TRANSITIONS } from '@dueline/scheduled-actions';
import { expect } from 'vitest';
import type { Version } from './race-states.ts';

/** What may differ without a new fence: neither who owns the row nor what it is. */
const IN_NOBODYS_NAME = ['updated_at', 'lease_until', 'alone'];

export const isChange = ({ before, after }: Version): boolean =>
  Object.keys(after).some(
    (key) => !IN_NOBODYS_NAME.includes(key) && before[key] !== after[key] && !isSameJson(before[key], after[key]),
  );
const isSameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** The fence grows by one with every change and with nothing else; only legal moves; a branch is set once, a gen begun by a person. */
export function checkVersions(versions: readonly Version[]): void {
  for (const version of versions) {
    const { before, after } = version;
    expect(after.fence - before.fence).toBe(isChange(version) ? 1 : 0);
    if (isChange(version)) expect(TRANSITIONS[before.status]).toContain(after.status);
    const isRevived = before.status === 'failed' || before.status === 'cancelled';
    expect(after.gen - before.gen).toBe(isRevived ? 1 : 0);
    if (before.branch !== null && !isRevived) expect(after.branch).toBe(before.branch);
    if (!isRevived) expect(Number(after.retry_count)).toBeGreaterThanOrEqual(Number(before.retry_count));
  }
}
