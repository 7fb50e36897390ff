/** Requests a second to one channel that we allow ourselves: 70 % of what LINE documents (2,000 pushes, 200 multicasts). */
export const CEILINGS = { push: 1_400, multicast: 140 } as const;

/** An endpoint of LINE whose requests are counted by the second. */
export type LimitedEndpoint = keyof typeof CEILINGS;

/** What one bucket counts: the requests of one account, which is one channel, to one endpoint. */
export interface Bucket {
  readonly lineOaId: string;
  readonly endpoint: LimitedEndpoint;
}

/** The name of a bucket, also in Redis. */
export const nameOf = ({ endpoint, lineOaId }: Bucket): string => `LINE_RATE:${endpoint}:${lineOaId}`;
