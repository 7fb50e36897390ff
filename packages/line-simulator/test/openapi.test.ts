import { beforeAll, describe, expect, test } from 'vitest';
import type { Simulator } from '../src/index.ts';
import { loadOpenApi, type Spec } from './openapi.ts';
import { receiver } from './receiver.ts';
import { CHANNEL, call, control, key, manualClock, start, text, user } from './support.ts';

const folder = process.env.LINE_OPENAPI_DIR;
const SKIPPED = 'LINE_OPENAPI_DIR names no folder with LINE’s OpenAPI files';

interface Case {
  readonly name?: string;
  readonly spec?: Spec;
  /** Method and path as the file has them. */
  readonly operation: readonly [method: string, path: string];
  /** Where the path has parameters, or a query. */
  readonly path?: string;
  readonly body?: unknown;
  readonly form?: Record<string, string>;
  readonly retryKey?: string;
  readonly status: number;
  /** The request is wrong on purpose, in a way that the file itself forbids. */
  readonly isWrong?: true;
}

const messages = [text('hello [[lid:x]]')];
const button = { type: 'uri', label: 'open', uri: 'https://example.com' };
const allKinds = [
  text('x'),
  { type: 'template', altText: 'x', template: { type: 'buttons', text: 'x', actions: [button] } },
  { type: 'image', originalContentUrl: 'https://example.com/1.png', previewImageUrl: 'https://example.com/1.png' },
  { type: 'sticker', packageId: '1', stickerId: '1' },
];
const to = user(0);
const secret = { grant_type: 'client_credentials', client_id: CHANNEL, client_secret: `secret-of-${CHANNEL}` };
const links = { richMenuId: 'richmenu-1', userIds: [user(0), user(1)] };
const send = (kind: string) => ['POST', `/v2/bot/message/${kind}`] as const;
const get = (path: string) => ['GET', `/v2/bot/${path}`] as const;
const menuOfUser = '/v2/bot/user/{userId}/richmenu';
const menu = {
  size: { width: 2_500, height: 1_686 },
  selected: false,
  name: 'x',
  chatBarText: 'x',
  areas: [{ bounds: { x: 0, y: 0, width: 9, height: 9 }, action: button }],
};
const insight = get('insight/message/event/aggregation');
const upload = '/v2/bot/audienceGroup/upload';

const CASES: readonly Case[] = [
  { operation: send('push'), body: { to, messages: allKinds }, retryKey: key(1), status: 200 },
  { operation: send('push'), body: { to, messages: allKinds }, retryKey: key(1), status: 409 },
  { operation: send('push'), body: { to, messages: [] }, retryKey: key(2), status: 400, isWrong: true },
  { operation: send('multicast'), body: { to: [to], messages }, retryKey: key(3), status: 200 },
  { operation: send('multicast'), body: { to: ['U1'], messages }, retryKey: key(4), status: 400 },
  { operation: send('broadcast'), body: { messages }, retryKey: key(5), status: 200 },
  { operation: send('broadcast'), body: { messages }, retryKey: key(5), status: 409 },
  { operation: send('narrowcast'), body: { messages }, retryKey: key(6), status: 202 },
  { operation: send('reply'), body: { replyToken: 'x', messages }, status: 400 },
  ...['reply', 'push', 'multicast', 'narrowcast', 'broadcast'].map((kind): Case => {
    return { operation: send(`validate/${kind}`), body: { messages: allKinds }, status: 200 };
  }),
  { operation: get('message/quota'), status: 200 },
  { operation: get('message/quota/consumption'), status: 200 },
  ...['reply', 'push', 'multicast', 'broadcast'].flatMap((kind): Case[] => {
    const operation = get(`message/delivery/${kind}`);
    return ['20261130', '20261201', '20170101'].map((date) => {
      return { name: date, operation, path: `${operation[1]}?date=${date}`, status: 200 };
    });
  }),
  { operation: get('profile/{userId}'), path: `/v2/bot/profile/${to}`, status: 200 },
  { operation: get('profile/{userId}'), path: '/v2/bot/profile/U1', status: 400 },
  { operation: get('followers/ids'), status: 200 },
  { operation: get('followers/ids'), path: '/v2/bot/followers/ids?limit=2', status: 200 },
  { operation: get('info'), status: 200 },
  { operation: ['GET', menuOfUser], path: `/v2/bot/user/${user(5)}/richmenu`, status: 404 },
  {
    operation: ['POST', `${menuOfUser}/{richMenuId}`],
    path: `/v2/bot/user/${to}/richmenu/richmenu-1`,
    status: 200,
  },
  { operation: ['GET', menuOfUser], path: `/v2/bot/user/${to}/richmenu`, status: 200 },
  { operation: ['DELETE', menuOfUser], path: `/v2/bot/user/${to}/richmenu`, status: 200 },
  { operation: ['POST', '/v2/bot/richmenu/bulk/link'], body: links, status: 202 },
  { operation: ['POST', '/v2/bot/richmenu/bulk/link'], body: { ...links, richMenuId: 'x' }, status: 404 },
  { operation: ['POST', '/v2/bot/richmenu/bulk/unlink'], body: { userIds: [to] }, status: 202 },
  { spec: 'channel-access-token', operation: ['POST', '/oauth2/v3/token'], form: secret, status: 200 },
  { spec: 'channel-access-token', operation: ['POST', '/v2/oauth/accessToken'], form: secret, status: 200 },
  {
    spec: 'channel-access-token',
    operation: ['POST', '/v2/oauth/accessToken'],
    form: { ...secret, client_secret: 'x' },
    status: 400,
  },
  { operation: ['POST', '/v2/bot/richmenu'], body: menu, status: 200 },
  { operation: get('richmenu/list'), status: 200 },
  { operation: get('richmenu/{richMenuId}'), path: '/v2/bot/richmenu/richmenu-1', status: 200 },
  {
    operation: ['POST', '/v2/bot/richmenu/alias'],
    body: { richMenuAliasId: 'a', richMenuId: 'richmenu-1' },
    status: 200,
  },
  { operation: get('richmenu/alias/list'), status: 200 },
  { operation: get('richmenu/alias/{richMenuAliasId}'), path: '/v2/bot/richmenu/alias/a', status: 200 },
  { operation: ['POST', '/v2/bot/richmenu/batch'], body: { operations: [{ type: 'unlinkAll' }] }, status: 202 },
  { operation: get('message/aggregation/info'), status: 200 },
  { operation: get('message/aggregation/list'), status: 200 },
  {
    spec: 'insight',
    operation: insight,
    path: `${insight[1]}?customAggregationUnit=x&from=20261201&to=20261202`,
    status: 200,
  },
  {
    spec: 'manage-audience',
    operation: ['POST', upload],
    body: { description: 'x', audiences: [{ id: to }] },
    status: 202,
  },
  { spec: 'manage-audience', operation: ['PUT', upload], body: { audienceGroupId: 4_389_303_728_991 }, status: 202 },
  {
    spec: 'manage-audience',
    operation: get('audienceGroup/{audienceGroupId}'),
    path: '/v2/bot/audienceGroup/4389303728991',
    status: 200,
  },
  {
    spec: 'manage-audience',
    operation: get('audienceGroup/{audienceGroupId}'),
    path: '/v2/bot/audienceGroup/1',
    status: 400,
  },
];

describe.skipIf(folder === undefined)(`as LINE describes its API (else: ${SKIPPED})`, () => {
  let api: ReturnType<typeof loadOpenApi>;
  beforeAll(() => {
    api = loadOpenApi(folder ?? '');
  });

  test('is every request of this test, and every answer', async () => {
    const simulator = await start({ richMenuIds: ['richmenu-1'], quota: { type: 'limited', value: 1_000 } });
    for (const one of CASES)
      expect([one.operation, one.name, await check(simulator, one)]).toEqual([one.operation, one.name, []]);
  });

  async function check(simulator: Simulator, one: Case): Promise<string[]> {
    const { spec = 'messaging-api', operation, path = operation[1], body, form, retryKey, status } = one;
    const answer = await call(simulator, path, {
      method: operation[0],
      ...(body !== undefined && { body }),
      ...(form !== undefined && {
        raw: new URLSearchParams(form).toString(),
        contentType: 'application/x-www-form-urlencoded',
      }),
      ...(retryKey !== undefined && { retryKey }),
    });
    const problems = api.request(spec, operation, body ?? form);
    return [
      ...(one.isWrong === true ? (problems.length > 0 ? [] : ['the request is right']) : problems),
      ...api.answer(spec, operation, answer),
      ...(answer.status === status
        ? []
        : [`status ${answer.status} instead of ${status}: ${JSON.stringify(answer.body)}`]),
    ];
  }

  test('are the messages that this test sends', () => {
    expect(allKinds.flatMap((message) => api.byType('messaging-api', 'Message', message))).toEqual([]);
  });

  test('are progress and reply, which need something before them', async () => {
    const clock = manualClock();
    const simulator = await start({ richMenuIds: ['richmenu-1'] }, clock);
    const progressed = async (path: string, requestId: string | null) => {
      const answer = await call(simulator, `${path}?requestId=${requestId}`);
      return [answer.status, api.answer('messaging-api', ['GET', path], answer)];
    };
    const narrowcast = await call(simulator, '/v2/bot/message/narrowcast', { body: { messages }, retryKey: key(1) });
    const batch = await call(simulator, '/v2/bot/richmenu/batch', { body: { operations: [{ type: 'unlinkAll' }] } });
    for (let step = 0; step < 3; step += 1) {
      expect(await progressed('/v2/bot/message/progress/narrowcast', narrowcast.requestId)).toEqual([200, []]);
      expect(await progressed('/v2/bot/richmenu/progress/batch', batch.requestId)).toEqual([200, []]);
      clock.advance(5_000);
    }
    const told = await control(simulator, `/users/${to}/message`, { channelId: CHANNEL });
    const { replyToken } = (told as { event: { replyToken: string } }).event;
    const reply = await call(simulator, '/v2/bot/message/reply', { body: { replyToken, messages } });
    expect([reply.status, api.answer('messaging-api', send('reply'), reply)]).toEqual([200, []]);
  });

  test.each([
    ['follow', {}],
    ['block', {}],
    ['message', {}],
    ['postback', { data: 'x' }],
  ])('is the webhook of %s', async (deed, fields) => {
    const { url, received } = await receiver();
    const simulator = await start({ webhook: { url } });
    await control(simulator, `/users/${to}/${deed}`, { channelId: CHANNEL, ...fields });
    const callback = JSON.parse(received[0]?.body ?? '') as { events: { type: string }[] };
    expect(callback.events).toHaveLength(1);
    expect([
      ...api.bySchema('webhook', 'CallbackRequest', callback),
      ...callback.events.flatMap((event) => api.byType('webhook', 'Event', event)),
    ]).toEqual([]);
  });
});
