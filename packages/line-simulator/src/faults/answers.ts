import { type Answer, type Exchange, failure, REDIRECT_TARGET } from '../exchange.ts';
import type { Effect } from './effects.ts';
import { poisonProperty } from './engine.ts';

const HTML_TYPE = 'text/html; charset=utf-8';

/** What LINE, or a proxy before it, answers instead; undefined for an effect that is no answer. */
export function answerOf(effect: Effect, exchange: Exchange): Answer | undefined {
  switch (effect.type) {
    case 'rateLimit':
      return failure(429, 'The API rate limit has been exceeded. Try again later.');
    case 'sameUser':
      return failure(429, 'Too many messages have been sent to the same user. Try again later.');
    case 'status':
      return failure(effect.status, effect.message ?? textOfStatus(effect.status));
    case 'conflict':
      return failure(409, 'Conflict');
    case 'revokeToken':
      return failure(401, 'Authentication failed due to the following reason: invalid token');
    case 'poison': {
      const property = poisonProperty(exchange, effect.users) ?? 'to';
      return failure(400, `The property, ${property}, in the request body is invalid (line: -, column: -)`);
    }
    case 'garbage':
      return { status: 200, body: undefined, text: '{"sentMess' };
    case 'html':
      return proxyAnswer(effect.status, { 'content-type': HTML_TYPE });
    case 'redirect':
      return proxyAnswer(effect.status, { 'content-type': HTML_TYPE, location: REDIRECT_TARGET });
    default:
      return undefined;
  }
}

function proxyAnswer(status: number, proxyHeaders: Readonly<Record<string, string>>): Answer {
  return { status, body: undefined, text: `<html><body><h1>${status}</h1></body></html>`, proxyHeaders };
}

function textOfStatus(status: number): string {
  if (status === 400) return 'The request body has 1 error(s)';
  if (status === 403) return 'Access to this API is not available for your account';
  return status >= 500 ? 'Internal server error' : 'The request was refused';
}
