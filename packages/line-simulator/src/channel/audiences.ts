/** One upload of user ids on its way into an audience. */
interface AudienceJob {
  readonly audienceGroupJobId: number;
  readonly description: string;
  readonly audienceCount: number;
  readonly createdAt: number;
  jobStatus: 'QUEUED' | 'FINISHED';
}

export interface Audience {
  readonly audienceGroupId: number;
  readonly description: string;
  readonly createdAt: number;
  status: 'IN_PROGRESS' | 'READY';
  /** Ordinals of users. */
  readonly members: Set<number>;
  /** Additions after the creation. */
  readonly jobs: AudienceJob[];
}

/** The audiences of one channel, by id. */
export interface Audiences {
  readonly all: ReadonlyMap<number, Audience>;
  create(description: string, atMs: number): Audience;
  addJob(audience: Audience, job: Pick<AudienceJob, 'description' | 'audienceCount' | 'createdAt'>): AudienceJob;
}

const FIRST_ID = 4_389_303_728_991;

export function createAudiences(): Audiences {
  const all = new Map<number, Audience>();
  let jobs = 0;
  return {
    all,
    create(description, atMs) {
      const audienceGroupId = FIRST_ID + all.size;
      const audience: Audience = {
        audienceGroupId,
        description,
        createdAt: atMs,
        status: 'IN_PROGRESS',
        members: new Set(),
        jobs: [],
      };
      all.set(audienceGroupId, audience);
      return audience;
    },
    addJob(audience, fields) {
      jobs += 1;
      const job: AudienceJob = { ...fields, audienceGroupJobId: jobs, jobStatus: 'QUEUED' };
      audience.jobs.push(job);
      return job;
    },
  };
}
