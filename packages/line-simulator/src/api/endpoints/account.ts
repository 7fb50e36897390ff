import { dayOf, isDay } from '../../channel/japan-time.ts';
import { COUNTED_SENDS, type CountedSend } from '../../channel/sent-counts.ts';
import { type Answer, channelOf, type Endpoint, type Exchange, failure } from '../exchange.ts';

const read = { method: 'GET', limit: { count: 2_000, perMs: 1_000 }, isSend: false, body: 'none' } as const;
/** LINE counts since then. */
const FIRST_DAY = '20180331';

/** The account itself: its quota, what it has sent, and its name. */
export const ACCOUNT_ENDPOINTS: readonly Endpoint[] = [
  {
    ...read,
    key: 'quota',
    path: '/v2/bot/message/quota',
    answer: (exchange) => ({ status: 200, body: channelOf(exchange).quota.setting }),
  },
  {
    ...read,
    key: 'quota/consumption',
    path: '/v2/bot/message/quota/consumption',
    answer(exchange) {
      const { quota, settings } = channelOf(exchange);
      const totalUsage = Math.max(0, quota.consumed(exchange.at) - settings.knobs.consumptionLag);
      return { status: 200, body: { totalUsage } };
    },
  },
  ...COUNTED_SENDS.map(
    (kind): Endpoint => ({
      ...read,
      key: `delivery/${kind}`,
      path: `/v2/bot/message/delivery/${kind}`,
      validate: validateDate,
      answer: (exchange) => sentOn(exchange, kind),
    }),
  ),
  {
    ...read,
    key: 'info',
    path: '/v2/bot/info',
    answer(exchange) {
      const { settings, botUserId } = channelOf(exchange);
      return {
        status: 200,
        body: {
          userId: botUserId,
          basicId: `@${botUserId.slice(1, 9)}`,
          displayName: settings.name,
          chatMode: 'bot',
          markAsReadMode: 'auto',
        },
      };
    },
  },
];

function validateDate({ query }: Exchange): Answer | undefined {
  const { date } = query;
  if (typeof date === 'string' && isDay(date)) return undefined;
  return failure(400, "The value for the 'date' parameter is invalid");
}

/** A day of UTC+9 is counted when it is over. */
function sentOn(exchange: Exchange, kind: CountedSend): Answer {
  const date = String(exchange.query.date);
  if (date < FIRST_DAY) return { status: 200, body: { status: 'out_of_service' } };
  if (date >= dayOf(exchange.at)) return { status: 200, body: { status: 'unready' } };
  return { status: 200, body: { status: 'ready', success: channelOf(exchange).sent.on(date, kind) } };
}
