import type { Channel } from '../../channel/channels.ts';
import type { TokenKind } from '../../channel/issued-tokens.ts';
import { assertionClaims } from '../../channel/jwt.ts';
import { type Answer, channelOf, type Endpoint, type Exchange } from '../exchange.ts';

const SECOND_MS = 1_000;
const DAY_SECONDS = 86_400;
const STATELESS_SECONDS = 900;
const MAX_LIVE = 30;
/** LINE states a limit for the short-lived tokens only. */
const LIMIT = { count: 370, perMs: SECOND_MS };
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const issue = { method: 'POST', limit: LIMIT, isSend: false, body: 'form' } as const;

/** Channel access tokens: stateless (v3), short-lived (v2), and by a JWT (v2.1). */
export const TOKEN_ENDPOINTS: readonly Endpoint[] = [
  {
    ...issue,
    key: 'token/v3',
    path: '/oauth2/v3/token',
    identify: (exchange) =>
      exchange.body?.client_assertion === undefined ? identifyBySecret(exchange) : identifyByAssertion(exchange),
    answer: (exchange) => issued(exchange, 'stateless', STATELESS_SECONDS),
  },
  {
    ...issue,
    key: 'token/v2',
    path: '/v2/oauth/accessToken',
    identify: identifyBySecret,
    answer(exchange) {
      const { tokens } = channelOf(exchange);
      const live = tokens.live('shortLived', exchange.at);
      // The one that is too many costs the oldest its life, without a word to whoever uses it.
      for (const { value } of live.slice(0, Math.max(0, live.length + 1 - MAX_LIVE))) tokens.revoke(value);
      return issued(exchange, 'shortLived', 30 * DAY_SECONDS);
    },
  },
  {
    ...issue,
    key: 'token/v2.1',
    path: '/oauth2/v2.1/token',
    identify: identifyByAssertion,
    validate: (exchange) =>
      channelOf(exchange).tokens.live('assertion', exchange.at).length < MAX_LIVE
        ? undefined
        : refusal('invalid_request', 'The maximum number of access tokens has already been issued'),
    answer(exchange) {
      const asked = assertionClaims(String(exchange.body?.client_assertion))?.token_exp;
      const seconds = typeof asked === 'number' ? asked : 30 * DAY_SECONDS;
      return issued(exchange, 'assertion', Math.min(seconds, 30 * DAY_SECONDS));
    },
  },
];

function refusal(error: string, text: string): Answer {
  return { status: 400, body: { error, error_description: text } };
}

function issued(exchange: Exchange, kind: TokenKind, seconds: number): Answer {
  const { tokens } = channelOf(exchange);
  // Expired ones are forgotten by looking, so that a token every few minutes leaves nothing behind.
  tokens.live(kind, exchange.at);
  const token = tokens.issue(kind, exchange.at + seconds * SECOND_MS);
  return {
    status: 200,
    body: {
      access_token: token.value,
      expires_in: seconds,
      token_type: 'Bearer',
      ...(kind === 'assertion' && { key_id: token.keyId }),
    },
  };
}

function identifyBySecret(exchange: Exchange): Answer | undefined {
  const { client_id: clientId, client_secret: secret } = exchange.body ?? {};
  const refused = grantProblem(exchange);
  if (refused !== undefined) return refused;
  const channel = typeof clientId === 'string' ? exchange.channels.byId(clientId) : undefined;
  if (channel === undefined) return refusal('invalid_client', 'invalid client_id');
  if (channel.secret !== secret) return refusal('invalid_client', 'invalid client_secret');
  exchange.channel = channel;
  return undefined;
}

/** The claims are checked, the signature is not: the simulator knows no public key of the channel. */
function identifyByAssertion(exchange: Exchange): Answer | undefined {
  const { client_assertion_type: type, client_assertion: assertion } = exchange.body ?? {};
  const refused = grantProblem(exchange);
  if (refused !== undefined) return refused;
  if (type !== ASSERTION_TYPE) return refusal('invalid_request', 'invalid client_assertion_type');
  const channel = assertionOwner(exchange, assertion);
  if (channel === undefined) return refusal('invalid_client', 'Invalid client_assertion');
  exchange.channel = channel;
  return undefined;
}

function assertionOwner({ channels, at }: Exchange, assertion: unknown): Channel | undefined {
  const claims = typeof assertion === 'string' ? assertionClaims(assertion) : undefined;
  if (claims === undefined || claims.iss !== claims.sub || claims.aud !== 'https://api.line.me/') return undefined;
  const seconds = typeof claims.exp === 'number' ? claims.exp - at / SECOND_MS : 0;
  if (seconds <= 0 || seconds > 30 * 60 || typeof claims.sub !== 'string') return undefined;
  return channels.byId(claims.sub);
}

function grantProblem({ body }: Exchange): Answer | undefined {
  return body?.grant_type === 'client_credentials'
    ? undefined
    : refusal('unsupported_grant_type', 'grant_type must be client_credentials');
}
