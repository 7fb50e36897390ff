import type { Audience } from '../../channel/audiences.ts';
import { isUserId } from '../../channel/user-ids.ts';
import { isFields } from '../../fields.ts';
import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure } from '../exchange.ts';
import type { Problem } from '../validation.ts';
import { noteUnknownUsers } from './users.ts';

const shared = { limit: { count: 60, perMs: 60_000 }, isSend: false } as const;
const UPLOAD = '/v2/bot/audienceGroup/upload';
const MAX_IDS = 10_000;
const MAX_NAME = 120;
const MAX_AUDIENCES = 1_000;
const MAX_JOBS = 10;
const KEPT_SECONDS = 180 * 86_400;

/** Audiences of uploaded user ids. Members count when their job is done. */
export const AUDIENCE_ENDPOINTS: readonly Endpoint[] = [
  {
    ...shared,
    key: 'audience/create',
    method: 'POST',
    path: UPLOAD,
    body: 'json',
    validate: validateNew,
    answer: create,
  },
  {
    ...shared,
    key: 'audience/add',
    method: 'PUT',
    path: UPLOAD,
    body: 'json',
    validate: validateAddition,
    answer: add,
  },
  {
    ...shared,
    key: 'audience/get',
    method: 'GET',
    path: '/v2/bot/audienceGroup/:audienceGroupId',
    body: 'none',
    answer(exchange) {
      const audience = channelOf(exchange).audiences.all.get(Number(exchange.params.audienceGroupId));
      return audience === undefined ? notFound() : { status: 200, body: dataOf(audience) };
    },
  },
];

function notFound(): Answer {
  return {
    status: 400,
    body: { message: 'audience group not found', details: [{ message: 'AUDIENCE_GROUP_NOT_FOUND' }] },
  };
}

function validateNew(exchange: Exchange): Answer | undefined {
  const { description } = exchange.body ?? {};
  const problems = idProblems(exchange);
  if (typeof description !== 'string' || description.length < 1 || description.length > MAX_NAME) {
    problems.push({ message: `Length must be between 1 and ${MAX_NAME}`, property: 'description' });
  }
  if (problems.length > 0) return badBody(problems);
  return channelOf(exchange).audiences.all.size < MAX_AUDIENCES ? undefined : failure(400, 'TOO_MANY_AUDIENCE_GROUPS');
}

function validateAddition(exchange: Exchange): Answer | undefined {
  const audience = audienceOf(exchange);
  if (audience === undefined) return notFound();
  const problems = idProblems(exchange);
  if (problems.length > 0) return badBody(problems);
  const running = audience.jobs.filter(({ jobStatus }) => jobStatus !== 'FINISHED').length;
  return running < MAX_JOBS ? undefined : failure(429, 'There are too many jobs on the audience. Try again later.');
}

function idProblems({ body }: Exchange): Problem[] {
  const audiences = body?.audiences;
  if (audiences === undefined) return [];
  if (!Array.isArray(audiences) || audiences.length > MAX_IDS) {
    return [{ message: `Size must be between 0 and ${MAX_IDS}`, property: 'audiences' }];
  }
  const invalid = audiences.findIndex((entry: unknown) => !isFields(entry) || !isUserId(entry.id));
  return invalid < 0 ? [] : [{ message: 'Invalid user id', property: `audiences[${invalid}].id` }];
}

function idsOf({ body }: Exchange): string[] {
  const audiences: unknown[] = Array.isArray(body?.audiences) ? body.audiences : [];
  return audiences.map((entry) => (isFields(entry) ? entry.id : undefined)).filter(isUserId);
}

function audienceOf(exchange: Exchange): Audience | undefined {
  const id = exchange.body?.audienceGroupId;
  return typeof id === 'number' ? channelOf(exchange).audiences.all.get(id) : undefined;
}

function create(exchange: Exchange): Answer {
  const { audiences } = channelOf(exchange);
  const audience = audiences.create(String(exchange.body?.description), exchange.at);
  joinLater(exchange, audience, () => {
    audience.status = 'READY';
  });
  const { jobs: _jobs, audienceGroup } = dataOf(audience);
  const { audienceCount: _count, status: _status, ...body } = audienceGroup;
  return { status: 202, body };
}

function add(exchange: Exchange): Answer {
  const audience = audienceOf(exchange);
  if (audience === undefined) return notFound();
  const { uploadDescription } = exchange.body ?? {};
  const job = channelOf(exchange).audiences.addJob(audience, {
    description: typeof uploadDescription === 'string' ? uploadDescription : '',
    audienceCount: idsOf(exchange).length,
    createdAt: exchange.at,
  });
  joinLater(exchange, audience, () => {
    job.jobStatus = 'FINISHED';
  });
  return { status: 202, body: {} };
}

function joinLater(exchange: Exchange, audience: Audience, done: () => void): void {
  const { users, settings } = channelOf(exchange);
  const userIds = idsOf(exchange);
  noteUnknownUsers(exchange, userIds);
  exchange.agenda.add(exchange.at + settings.knobs.audienceDelayMs, () => {
    for (const userId of exchange.hollow === true ? [] : userIds) {
      const user = users.find(userId);
      if (user !== undefined) audience.members.add(user);
    }
    done();
  });
}

function dataOf(audience: Audience) {
  const { audienceGroupId, description, createdAt, status, members, jobs } = audience;
  const created = Math.floor(createdAt / 1_000);
  return {
    audienceGroup: {
      audienceGroupId,
      type: 'UPLOAD',
      description,
      status,
      audienceCount: members.size,
      created,
      expireTimestamp: created + KEPT_SECONDS,
      permission: 'READ_WRITE',
      createRoute: 'MESSAGING_API',
      isIfaAudience: false,
    },
    jobs: jobs.map(({ createdAt: at, ...job }) => ({
      ...job,
      audienceGroupId,
      type: 'DIFF_ADD',
      created: Math.floor(at / 1_000),
    })),
  };
}
