import type { RichMenus } from '../../channel/rich-menus.ts';
import { type Fields, isFields } from '../../fields.ts';
import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure, requestIdOf } from '../exchange.ts';
import type { Problem } from '../validation.ts';

const HOUR_MS = 3_600_000;
const MAX_OPERATIONS = 1_000;
const RESUME_KEY = /^[a-zA-Z0-9_-]{1,100}$/;

/** Replaces the menus of many users by the menu they have. */
export const RICH_MENU_BATCH_ENDPOINTS: readonly Endpoint[] = [
  {
    key: 'richmenu/batch',
    method: 'POST',
    path: '/v2/bot/richmenu/batch',
    limit: { count: 3, perMs: HOUR_MS },
    isSend: false,
    body: 'json',
    validate,
    answer: applyLater,
  },
  {
    key: 'richmenu/batch/progress',
    method: 'GET',
    path: '/v2/bot/richmenu/progress/batch',
    limit: { count: 100, perMs: HOUR_MS },
    isSend: false,
    body: 'none',
    answer(exchange) {
      const batch = channelOf(exchange).richMenuBatches.get(String(exchange.query.requestId));
      if (batch === undefined) return failure(404, 'Not found');
      const { acceptedAt, completedAt } = batch;
      const instant = (ms: number) => new Date(ms).toISOString();
      if (completedAt === undefined) {
        return { status: 200, body: { phase: 'ongoing', acceptedTime: instant(acceptedAt) } };
      }
      return {
        status: 200,
        body: { phase: 'succeeded', acceptedTime: instant(acceptedAt), completedTime: instant(completedAt) },
      };
    },
  },
];

function operationsOf({ body }: Exchange): Fields[] {
  return Array.isArray(body?.operations) ? body.operations.filter(isFields) : [];
}

function validate(exchange: Exchange): Answer | undefined {
  const { operations, resumeRequestKey } = exchange.body ?? {};
  const problems: Problem[] = [];
  if (!Array.isArray(operations) || operations.length < 1 || operations.length > MAX_OPERATIONS) {
    problems.push({ message: `Size must be between 1 and ${MAX_OPERATIONS}`, property: 'operations' });
  }
  if (resumeRequestKey !== undefined && !(typeof resumeRequestKey === 'string' && RESUME_KEY.test(resumeRequestKey))) {
    problems.push({ message: 'invalid resumeRequestKey', property: 'resumeRequestKey' });
  }
  const { richMenus } = channelOf(exchange);
  operationsOf(exchange).forEach((operation, index) => {
    const property = `operations[${index}]`;
    for (const field of fieldsOfType(operation.type) ?? ['type']) {
      const value = operation[field];
      if (typeof value === 'string' && richMenus.has(value)) continue;
      problems.push({ message: `invalid ${field}`, property: `${property}.${field}` });
    }
  });
  return problems.length > 0 ? badBody(problems) : undefined;
}

/** Fields that name a menu; undefined for an operation that does not exist. */
function fieldsOfType(type: unknown): string[] | undefined {
  if (type === 'link') return ['from', 'to'];
  if (type === 'unlink') return ['from'];
  return type === 'unlinkAll' ? [] : undefined;
}

function applyLater(exchange: Exchange): Answer {
  const { richMenus, richMenuBatches, settings } = channelOf(exchange);
  const batch: { acceptedAt: number; completedAt?: number } = { acceptedAt: exchange.at };
  richMenuBatches.set(requestIdOf(exchange), batch);
  const operations = operationsOf(exchange);
  exchange.agenda.add(exchange.at + settings.knobs.bulkDelayMs, (at) => {
    if (exchange.hollow !== true) apply(richMenus, operations);
    batch.completedAt = at;
  });
  return { status: 202, body: {} };
}

/** All operations look at the menus as they were before the batch, so that two that swap menus do. */
function apply(richMenus: RichMenus, operations: readonly Fields[]): void {
  for (const [user, from] of richMenus.links()) {
    const operation = operations.find(({ type, from: named }) => type === 'unlinkAll' || named === from);
    if (operation?.type === 'link') richMenus.link(user, String(operation.to));
    else if (operation !== undefined) richMenus.unlink(user);
  }
}
