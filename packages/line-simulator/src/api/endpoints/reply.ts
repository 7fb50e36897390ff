import { sentMessages } from '../../ledger/ledger-store.ts';
import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure } from '../exchange.ts';
import { messageProblems, optionProblems } from '../validation.ts';
import { acceptSend, planForOne } from './send.ts';

/** The answer to one webhook event: free of charge, without a retry key, once. */
export const REPLY_ENDPOINT: Endpoint = {
  key: 'reply',
  method: 'POST',
  path: '/v2/bot/message/reply',
  limit: { count: 2_000, perMs: 1_000 },
  isSend: false,
  isFree: true,
  body: 'json',
  validate,
  answer(exchange) {
    channelOf(exchange).replyTokens.use(String(exchange.body?.replyToken));
    return { status: 200, body: { sentMessages: sentMessages(exchange.store, acceptSend(exchange)) } };
  },
};

function validate(exchange: Exchange): Answer | undefined {
  const body = exchange.body ?? {};
  const problems = [...messageProblems(body.messages), ...optionProblems(body)];
  const { replyToken } = body;
  if (typeof replyToken !== 'string' || replyToken === '') {
    problems.push({ message: 'May not be empty', property: 'replyToken' });
    return badBody(problems);
  }
  if (problems.length > 0) return badBody(problems);
  const user = channelOf(exchange).replyTokens.userOf(replyToken, exchange.at);
  if (user === undefined) return failure(400, 'Invalid reply token');
  planForOne(exchange, user);
  return undefined;
}
