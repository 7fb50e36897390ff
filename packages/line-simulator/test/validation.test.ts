import { expect, test } from 'vitest';
import { BROADCAST, type Call, call, codes, key, MULTICAST, PUSH, start, text, user } from './support.ts';

const MESSAGES = [text('hi')];
const details = (...list: [property: string, message: string][]) => ({
  message: `The request body has ${list.length} error(s)`,
  details: list.map(([property, message]) => ({ message, property })),
});
const TYPES = '[text, textV2, sticker, image, video, audio, location, imagemap, template, flex, coupon]';
const invalid = (property: string) => ({
  message: `The property, ${property}, in the request body is invalid (line: -, column: -)`,
});
const quickReply = (count: number, uri = 'https://example.com') => ({
  items: Array.from({ length: count }, () => ({ type: 'action', action: { type: 'uri', label: 'x', uri } })),
});

const REFUSED: [name: string, path: string, body: unknown, answer: unknown][] = [
  ['no messages', PUSH, { to: user(0) }, details(['messages', 'May not be empty'])],
  ['an empty list', PUSH, { to: user(0), messages: [] }, details(['messages', 'Size must be between 1 and 5'])],
  [
    'six messages',
    PUSH,
    { to: user(0), messages: Array(6).fill(text('x')) },
    details(['messages', 'Size must be between 1 and 5']),
  ],
  [
    'an unknown type and an empty text',
    PUSH,
    { to: user(0), messages: [{ type: 'txt' }, text('')] },
    details(
      ['messages[0].type', `Must be one of the following values: ${TYPES}`],
      ['messages[1].text', 'May not be empty'],
    ),
  ],
  [
    'a text of 5,001 units',
    PUSH,
    { to: user(0), messages: [text('あ'.repeat(5_001))] },
    details(['messages[0].text', 'Length must be between 0 and 5000']),
  ],
  [
    'a text that is a number',
    PUSH,
    { to: user(0), messages: [{ type: 'text', text: 5 }] },
    details(['messages[0].text', invalid('messages[0].text').message]),
  ],
  [
    'fourteen quick replies',
    PUSH,
    { to: user(0), messages: [{ ...text('x'), quickReply: quickReply(14) }] },
    details(['messages[0].quickReply.items', 'Size must be between 0 and 13']),
  ],
  [
    'a uri of 1,001 characters',
    PUSH,
    { to: user(0), messages: [{ ...text('x'), quickReply: quickReply(1, `https://e.com/${'x'.repeat(987)}`) }] },
    details(['messages[0].quickReply.items[0].action.uri', 'Length must be between 1 and 1000']),
  ],
  [
    'a long uri behind a button, and fourteen quick replies to a sticker',
    PUSH,
    {
      to: user(0),
      messages: [
        {
          type: 'template',
          template: { actions: [{ type: 'message' }, { type: 'uri', uri: `https://e.com/${'x'.repeat(987)}` }] },
        },
        { type: 'sticker', quickReply: quickReply(14) },
      ],
    },
    details(
      ['messages[0].template.actions[1].uri', 'Length must be between 1 and 1000'],
      ['messages[1].quickReply.items', 'Size must be between 0 and 13'],
    ),
  ],
  [
    'an empty text with substitutions',
    PUSH,
    { to: user(0), messages: [{ type: 'textV2', text: '' }] },
    details(['messages[0].text', 'May not be empty']),
  ],
  [
    'two aggregation units',
    PUSH,
    { to: user(0), messages: MESSAGES, customAggregationUnits: ['a', 'b'] },
    details(['customAggregationUnits', 'Size must be between 0 and 1']),
  ],
  [
    'an odd unit name',
    PUSH,
    { to: user(0), messages: MESSAGES, customAggregationUnits: ['a-b'] },
    details(['customAggregationUnits[0]', invalid('customAggregationUnits[0]').message]),
  ],
  ['push to a malformed id', PUSH, { to: 'U123', messages: MESSAGES }, invalid('to')],
  ['push to an unknown user', PUSH, { to: user(99), messages: MESSAGES }, { message: 'Failed to send messages' }],
  ['nobody', MULTICAST, { to: [], messages: MESSAGES }, details(['to', 'Size must be between 1 and 500'])],
  [
    '501 users',
    MULTICAST,
    { to: Array.from({ length: 501 }, (_, n) => user(n)), messages: MESSAGES },
    details(['to', 'Size must be between 1 and 500']),
  ],
  ['one malformed id', MULTICAST, { to: [user(0), user(1).toUpperCase()], messages: MESSAGES }, invalid('to[1]')],
  ['broadcast of nothing', BROADCAST, { messages: [text('')] }, details(['messages[0].text', 'May not be empty'])],
];

test.each(REFUSED)('%s is refused in LINE’s words and reaches nobody', async (_name, path, body, answer) => {
  const simulator = await start();
  expect(await call(simulator, path, { body, retryKey: key(1) })).toMatchObject({ status: 400, body: answer });
  expect([...simulator.ledger.accepts()]).toEqual([]);
});

test('what is just within the limits is taken', async () => {
  const simulator = await start({ users: [{ prefix: 'a', count: 500 }] });
  const body = {
    to: Array.from({ length: 500 }, (_, n) => user(n)),
    messages: [
      { ...text('x'.repeat(5_000)), quickReply: quickReply(13, `https://e.com/${'x'.repeat(986)}`) },
      ...['sticker', 'flex', 'image', 'template'].map((type) => ({ type })),
    ],
    notificationDisabled: true,
    customAggregationUnits: ['promo_a'],
  };
  expect(await call(simulator, MULTICAST, { body, retryKey: key(1) })).toMatchObject({ status: 200, body: {} });
});

test('the validate endpoints judge the messages alike and send nothing', async () => {
  const simulator = await start();
  for (const kind of ['push', 'multicast', 'broadcast']) {
    const path = `/v2/bot/message/validate/${kind}`;
    expect(await call(simulator, path, { body: { messages: MESSAGES } })).toMatchObject({ status: 200, body: {} });
    expect(await call(simulator, path, { body: { messages: [text('')] } })).toMatchObject({
      status: 400,
      body: details(['messages[0].text', 'May not be empty']),
    });
  }
  expect([...simulator.ledger.receipts()]).toEqual([]);
  expect(codes(simulator)).toEqual([]);
});

const BEFORE_VALIDATION: [name: string, options: Call, status: number, message: string][] = [
  ['an unknown token', { token: 'other' }, 401, 'Authentication failed due to the following reason: invalid token'],
  ['a form', { contentType: 'application/x-www-form-urlencoded' }, 415, 'Unsupported media type'],
  [
    'a body that breaks off',
    { raw: '{"to":\n "U' },
    400,
    'The request body could not be parsed as JSON (line: 2, column: 4)',
  ],
  ['an empty body', { raw: '' }, 400, 'The request body could not be parsed as JSON (line: 1, column: 1)'],
  ['a list', { raw: '[]' }, 400, 'The request body could not be parsed as JSON (line: 1, column: 1)'],
  ['more than 2 MiB', { raw: `"${'x'.repeat(2 * 1_024 * 1_024)}"` }, 413, 'The request body is too large'],
  ['a key that is no UUID', { retryKey: 'abc' }, 400, 'The X-Line-Retry-Key header is invalid'],
];

test.each(BEFORE_VALIDATION)(
  '%s is refused before the content is looked at',
  async (_name, options, status, message) => {
    const simulator = await start();
    const answer = await call(simulator, PUSH, { body: { to: 'nobody' }, retryKey: key(1), ...options });
    expect(answer).toMatchObject({ status, body: { message } });
  },
);
