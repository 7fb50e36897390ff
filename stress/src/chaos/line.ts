import type { Stack } from '@dueline/demo';
import type { FaultRule } from '@dueline/line-simulator';

/** What is done to the simulated LINE from outside. */
export interface LineControl {
  /** From here on these faults are played, and no others. */
  play(rules: readonly FaultRule[], seed: number): Promise<void>;
  /** From here on LINE is well: no faults, its door open, its quotas raised. */
  heal(): Promise<void>;
  /** A share of the users blocks the account. */
  blockSome(channelId: string, fraction: number): Promise<void>;
}

/** @param channelIds Whose quotas are raised whenever the faults change. */
export function controlLine({ line }: Pick<Stack, 'line'>, channelIds: readonly string[]): LineControl {
  const call = async (method: 'POST' | 'DELETE', path: string, body?: object): Promise<void> => {
    const response = await fetch(`${line.controlUrl}${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`the LINE simulator answered ${response.status}: ${await response.text()}`);
  };
  const raiseQuotas = async () => {
    for (const channelId of channelIds) await call('POST', '/quota', { channelId, quota: { type: 'none' } });
  };
  return {
    play: async (rules, seed) => {
      await call('POST', '/faults', { seed, rules });
      await raiseQuotas();
    },
    heal: async () => {
      await call('DELETE', '/faults');
      await call('POST', '/listener', { state: 'up' });
      await raiseQuotas();
    },
    blockSome: (channelId, fraction) => call('POST', '/users/block', { channelId, fraction }),
  };
}
