import { dayNumber, isDay } from '../../channel/japan-time.ts';
import { type Answer, channelOf, type Endpoint, type Exchange, failure } from '../exchange.ts';

const read = { method: 'GET', limit: { count: 2_000, perMs: 1_000 }, isSend: false, body: 'none' } as const;
const HOUR_MS = 3_600_000;
const MAX_DAYS = 30;
const MAX_PAGE = 100;
/** Below this LINE tells nothing. */
const FEWEST_TOLD = 20;

/** Sends by the names they were given. */
export const UNIT_ENDPOINTS: readonly Endpoint[] = [
  {
    ...read,
    key: 'aggregation/info',
    path: '/v2/bot/message/aggregation/info',
    answer: (exchange) => ({
      status: 200,
      body: { numOfCustomAggregationUnits: channelOf(exchange).units.ofMonth(exchange.at).length },
    }),
  },
  { ...read, key: 'aggregation/list', path: '/v2/bot/message/aggregation/list', answer: list },
  {
    ...read,
    limit: { count: 60, perMs: HOUR_MS },
    key: 'insight/aggregation',
    path: '/v2/bot/insight/message/event/aggregation',
    validate: validateRange,
    answer: statistics,
  },
];

function list(exchange: Exchange): Answer {
  const limit = Number(exchange.query.limit ?? MAX_PAGE);
  const start = Number.parseInt(String(exchange.query.start ?? '0'), 36);
  if (!(limit >= 1 && limit <= MAX_PAGE)) return failure(400, "The value for the 'limit' parameter is invalid");
  if (!(start >= 0)) return failure(400, "The value for the 'start' parameter is invalid");
  const names = channelOf(exchange).units.ofMonth(exchange.at);
  const end = start + Math.floor(limit);
  return {
    status: 200,
    body: {
      customAggregationUnits: names.slice(start, end),
      ...(end < names.length && { next: end.toString(36) }),
    },
  };
}

function validateRange({ query }: Exchange): Answer | undefined {
  const { customAggregationUnit: unit, from, to } = query;
  if (typeof unit !== 'string' || unit === '') {
    return failure(400, "The value for the 'customAggregationUnit' parameter is invalid");
  }
  for (const [name, value] of [
    ['from', from],
    ['to', to],
  ]) {
    if (typeof value !== 'string' || !isDay(value))
      return failure(400, `The value for the '${name}' parameter is invalid`);
  }
  const days = dayNumber(String(to)) - dayNumber(String(from));
  return days >= 0 && days < MAX_DAYS ? undefined : failure(400, "The value for the 'to' parameter is invalid");
}

/** Whoever received has seen the message, for the simulator; clicks it does not count. */
function statistics(exchange: Exchange): Answer {
  const { customAggregationUnit: unit, from, to } = exchange.query;
  const delivered = channelOf(exchange).units.delivered(String(unit), String(from), String(to));
  const told = delivered >= FEWEST_TOLD;
  const overview = {
    uniqueImpression: told ? delivered : null,
    uniqueClick: told ? 0 : null,
    uniqueMediaPlayed: null,
    uniqueMediaPlayed100Percent: null,
  };
  return { status: 200, body: { overview, messages: [], clicks: [] } };
}
