import type { CEILINGS } from '@dueline/deliveries';

/** An endpoint of LINE whose requests are counted by the second. */
export type LimitedEndpoint = keyof typeof CEILINGS;

/** What one bucket counts: the requests of one account, which is one channel, to one endpoint. */
export interface Bucket {
  readonly lineOaId: string;
  readonly endpoint: LimitedEndpoint;
}

/** The name of a bucket, also in Redis. */
export const nameOf = ({ endpoint, lineOaId }: Bucket): string => `LINE_RATE:${endpoint}:${lineOaId}`;
