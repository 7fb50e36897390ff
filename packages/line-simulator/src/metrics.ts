import type { Clock } from './clock.ts';

export interface MetricsSnapshot {
  readonly sinceMs: number;
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly throttled: number;
  readonly inFlight: number;
  readonly inFlightMax: number;
  /** Faults of the simulator itself; anything but 0 makes a run worthless. */
  readonly internalErrors: number;
  readonly rssBytes: number;
  /** Count by status, for each endpoint. */
  readonly endpoints: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Counters since the start or the last reset. */
export function createMetrics(clock: Clock) {
  let startedAt = clock.now();
  let requests = 0;
  let inFlight = 0;
  let inFlightMax = 0;
  let internalErrors = 0;
  let endpoints = new Map<string, Map<number, number>>();

  return {
    begin(): void {
      requests += 1;
      inFlight += 1;
      inFlightMax = Math.max(inFlightMax, inFlight);
    },
    end(): void {
      inFlight -= 1;
    },
    answered(endpoint: string, status: number): void {
      const counts = endpoints.get(endpoint) ?? new Map<number, number>();
      counts.set(status, (counts.get(status) ?? 0) + 1);
      endpoints.set(endpoint, counts);
    },
    internalError(): void {
      internalErrors += 1;
    },
    reset(): void {
      startedAt = clock.now();
      requests = 0;
      inFlightMax = inFlight;
      internalErrors = 0;
      endpoints = new Map();
    },
    snapshot(): MetricsSnapshot {
      const sinceMs = clock.now() - startedAt;
      const counts = [...endpoints.values()];
      return {
        sinceMs,
        requests,
        requestsPerSecond: sinceMs > 0 ? (requests * 1_000) / sinceMs : 0,
        throttled: counts.reduce((sum, byStatus) => sum + (byStatus.get(429) ?? 0), 0),
        inFlight,
        inFlightMax,
        internalErrors,
        rssBytes: process.memoryUsage.rss(),
        endpoints: Object.fromEntries([...endpoints].map(([key, byStatus]) => [key, Object.fromEntries(byStatus)])),
      };
    },
  };
}
