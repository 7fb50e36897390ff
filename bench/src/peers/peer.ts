/** A job that does nothing, as every queue here gets it. */
export interface Job {
  /** Unique in its run. */
  readonly n: number;
  /** When it is due, in milliseconds of the epoch. */
  readonly dueAt: number;
}

/** `tuned`: as its own documentation tunes it for a drain; `late`: for firing on time. */
export type Mode = 'default' | 'tuned' | 'late';

/** Told of each job at the moment in which the peer's handler runs. */
export type OnJob = (job: Job) => void;

/** A job queue that others run, driven through our scenarios. */
export interface Peer {
  readonly name: string;
  /** Its version, and how each mode sets it, for the report. */
  readonly describe: (mode: Mode) => string;
  /**
   * Sets its server as its documentation asks for, before each round: others of the same server may have set it otherwise.
   * Only on a server that nobody else uses. Absent: the server is right as it is.
   */
  prepareServer?(): Promise<void>;
  /** Removes what it holds and makes its tables anew. */
  reset(): Promise<void>;
  /** Jobs by its bulk call, 1,000 at a time. */
  addMany(jobs: readonly Job[]): Promise<void>;
  /** Jobs one by one, each durable before the next of its lane is added. */
  addSingly(jobs: readonly Job[], concurrency: number): Promise<void>;
  /** So many jobs that are due between one day and a month from now. */
  addWaiting(count: number): Promise<void>;
  /** After filling: VACUUM ANALYZE and CHECKPOINT, or the like. */
  settle(): Promise<void>;
  /** Begins to work in this process. @returns what ends it in order. */
  work(mode: Mode, onJob: OnJob): Promise<() => Promise<void>>;
  /** Jobs that are due and not done. */
  left(): Promise<number>;
  /** Jobs that are not due yet. */
  waiting(): Promise<number>;
  /** Closes what it opened here. */
  close(): Promise<void>;
}

/** Where the servers are. */
export interface PeerUrls {
  /** A database that holds the schemas `bench_*`, which `reset` drops. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** What the keys of this run begin with, in a Redis that others use too; `bench` by default. */
  readonly redisPrefix?: string;
}
