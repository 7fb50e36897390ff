import { type Answer, type Exchange, failure, INVALID_TOKEN, RATE_LIMITED, REDIRECT_TARGET } from '../api/exchange.ts';
import { invalidProperty } from '../api/validation.ts';
import type { Effect } from './effects.ts';
import { poisonProperty } from './engine.ts';

const HTML_TYPE = 'text/html; charset=utf-8';

/** What LINE, or a proxy before it, answers instead; undefined for an effect that is no answer. */
export function answerOf(effect: Effect, exchange: Exchange): Answer | undefined {
  if (effect.type === 'rateLimit') return RATE_LIMITED;
  if (effect.type === 'sameUser') {
    return failure(429, 'Too many messages have been sent to the same user. Try again later.');
  }
  if (effect.type === 'status') return failure(effect.status, effect.message ?? textOfStatus(effect.status));
  if (effect.type === 'conflict') return failure(409, 'Conflict');
  if (effect.type === 'revokeToken') return INVALID_TOKEN;
  if (effect.type === 'poison') {
    return failure(400, invalidProperty(poisonProperty(exchange, effect.users) ?? 'to'));
  }
  if (effect.type === 'garbage') return { status: 200, body: undefined, text: '{"sentMess' };
  if (effect.type === 'html') return proxyAnswer(effect.status, { 'content-type': HTML_TYPE });
  if (effect.type === 'redirect') {
    return proxyAnswer(effect.status, { 'content-type': HTML_TYPE, location: REDIRECT_TARGET });
  }
  return undefined;
}

function proxyAnswer(status: number, proxyHeaders: Readonly<Record<string, string>>): Answer {
  return { status, body: undefined, text: `<html><body><h1>${status}</h1></body></html>`, proxyHeaders };
}

function textOfStatus(status: number): string {
  if (status === 400) return 'The request body has 1 error(s)';
  if (status === 403) return 'Access to this API is not available for your account';
  return status >= 500 ? 'Internal server error' : 'The request was refused';
}
