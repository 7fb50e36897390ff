import { expect, test } from 'vitest';
import type { Simulator } from '../src/index.ts';
import { CHANNEL, call, manualClock, start } from './support.ts';

const SECRET = { grant_type: 'client_credentials', client_id: CHANNEL, client_secret: `secret-of-${CHANNEL}` };
const FORM = 'application/x-www-form-urlencoded';
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const DAY_S = 86_400;
const NOW_S = Date.parse('2026-12-01T00:00:00.000Z') / 1_000;

const ask = (simulator: Simulator, path: string, fields: Record<string, string>) =>
  call(simulator, path, { raw: new URLSearchParams(fields).toString(), contentType: FORM });
const works = async (simulator: Simulator, token: unknown) =>
  (await call(simulator, '/v2/bot/info', { token: String(token) })).status === 200;

function assertion(claims: Record<string, unknown> = {}) {
  const payload = { iss: CHANNEL, sub: CHANNEL, aud: 'https://api.line.me/', exp: NOW_S + 1_800, ...claims };
  return {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: `${part({ alg: 'RS256', typ: 'JWT', kid: 'k' })}.${part(payload)}.signature`,
  };
}

test.each([
  ['a stateless token', '/oauth2/v3/token', SECRET, 900],
  ['a stateless token by a JWT', '/oauth2/v3/token', assertion(), 900],
  ['a short-lived token', '/v2/oauth/accessToken', SECRET, 30 * DAY_S],
  ['a token by a JWT', '/oauth2/v2.1/token', assertion({ token_exp: 3_600 }), 3_600],
])('%s works until it expires', async (_name, path, fields, seconds) => {
  const clock = manualClock();
  const simulator = await start({}, clock);
  const { status, body } = await ask(simulator, path, fields);
  expect([status, body]).toMatchObject([200, { expires_in: seconds, token_type: 'Bearer' }]);
  clock.advance(seconds * 1_000 - 1);
  expect(await works(simulator, body.access_token)).toBe(true);
  clock.advance(1);
  expect(await works(simulator, body.access_token)).toBe(false);
});

test('the 31st live short-lived token costs the oldest its life', async () => {
  const simulator = await start();
  const tokens: unknown[] = [];
  for (let n = 0; n < 31; n += 1) {
    tokens.push((await ask(simulator, '/v2/oauth/accessToken', SECRET)).body.access_token);
  }
  expect(await works(simulator, tokens[0])).toBe(false);
  expect(await works(simulator, tokens[1])).toBe(true);
  expect(await works(simulator, tokens[30])).toBe(true);
});

test('the 31st live token by a JWT is refused until one expires', async () => {
  const clock = manualClock();
  const simulator = await start({}, clock);
  const statuses: number[] = [];
  const issue = () => ask(simulator, '/oauth2/v2.1/token', assertion({ token_exp: 60 }));
  for (let n = 0; n < 30; n += 1) statuses.push((await issue()).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(await issue()).toMatchObject({
    status: 400,
    body: { error_description: 'The maximum number of access tokens has already been issued' },
  });
  clock.advance(60_000);
  expect(await issue()).toMatchObject({ status: 200, body: { key_id: expect.any(String) } });
});

test('there is no end to stateless tokens, and a replaced channel has none', async () => {
  const simulator = await start();
  const first = await ask(simulator, '/oauth2/v3/token', SECRET);
  for (let n = 0; n < 40; n += 1) expect((await ask(simulator, '/oauth2/v3/token', SECRET)).status).toBe(200);
  expect(await works(simulator, first.body.access_token)).toBe(true);
  const again = { channels: [{ channelId: CHANNEL, channelAccessToken: 'token-1' }] };
  await fetch(`${simulator.controlUrl}/__sim/channels`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(again),
  });
  expect(await works(simulator, first.body.access_token)).toBe(false);
});

test.each<[name: string, path: string, fields: Record<string, string>, error: string]>([
  ['another secret', '/oauth2/v3/token', { ...SECRET, client_secret: 'x' }, 'invalid_client'],
  ['an unknown channel', '/v2/oauth/accessToken', { ...SECRET, client_id: '1' }, 'invalid_client'],
  ['another grant', '/oauth2/v3/token', { ...SECRET, grant_type: 'x' }, 'unsupported_grant_type'],
  ['an assertion that is no JWT', '/oauth2/v2.1/token', { ...assertion(), client_assertion: 'x' }, 'invalid_client'],
  ['an assertion of an hour', '/oauth2/v2.1/token', assertion({ exp: NOW_S + 3_600 }), 'invalid_client'],
  ['an assertion for another place', '/oauth2/v2.1/token', assertion({ aud: 'https://e.com/' }), 'invalid_client'],
  ['a secret alone', '/oauth2/v2.1/token', SECRET, 'invalid_request'],
])('no token is issued for %s', async (_name, path, fields, error) => {
  expect(await ask(await start(), path, fields)).toMatchObject({ status: 400, body: { error } });
});

test('a request for a token is a form', async () => {
  expect(await call(await start(), '/oauth2/v3/token', { body: SECRET })).toMatchObject({ status: 415 });
});
