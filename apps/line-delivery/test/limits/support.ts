import type { Db } from '@dueline/db';
import type { InHand } from '../../src/in-hand.ts';
import { type Buckets, createLocalBuckets } from '../../src/limits/buckets.ts';
import { createLimits, type LimitEvent } from '../../src/limits/limits.ts';

export const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The limits of a process that is alone, unless it has other buckets. */
export const limitsOf = ({
  db,
  inHand,
  buckets = createLocalBuckets({ replicas: 1 }),
  tell = () => undefined,
}: {
  db: Db;
  inHand: InHand;
  buckets?: Buckets;
  tell?: (event: LimitEvent) => void;
}) => createLimits({ db, buckets, inHand: { push: inHand, chunks: inHand }, log: silent, tell });
