import type { StartedSend } from '@dueline/deliveries';

/** How many people a request is for; 1 of a broadcast, of which nobody knows. */
export function peopleOf({ endpoint, body }: Pick<StartedSend, 'endpoint' | 'body'>): number {
  if (endpoint !== 'multicast') return 1;
  const { to }: { to?: unknown } = JSON.parse(body);
  return Array.isArray(to) ? to.length : 1;
}
