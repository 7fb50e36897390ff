import { describe, expect, test } from 'vitest';
import { receiver } from './receiver.ts';
import { CHANNEL, call, control, key, manualClock, PUSH, start, text, user } from './support.ts';

const chat = { channelId: CHANNEL };

async function stage() {
  const { url, received } = await receiver();
  const simulator = await start();
  const button = { type: 'template', template: { actions: [{ type: 'uri', uri: `${url}/button` }] } };
  const messages = [text(`see ${url}/one and ${url}/two. [[lid:x]]`), button, text('https://example.com/far')];
  await call(simulator, PUSH, { body: { to: user(0), messages }, retryKey: key(1) });
  const act = (deed: string, fields: object = {}, n = 0) =>
    control(simulator, `/users/${user(n)}/${deed}`, { ...chat, ...fields });
  return { url, received, act, simulator };
}

describe('a user who opens the chat', () => {
  test('has LINE fetch the URLs of new texts for a preview, on this machine only, once', async () => {
    const { url, received, act } = await stage();
    expect(await act('open')).toMatchObject({
      fetched: [
        { url: `${url}/one`, status: 200 },
        { url: `${url}/two.`, status: 200 },
        { url: 'https://example.com/far', status: 'skipped' },
      ],
    });
    expect(received.map(({ method, headers }) => [method, headers['user-agent']])).toEqual([
      ['GET', 'facebookexternalhit/1.1;line-poker/1.0'],
      ['GET', 'facebookexternalhit/1.1;line-poker/1.0'],
    ]);
    expect(await act('open')).toEqual({ fetched: [] });
    expect(await act('open', {}, 1)).toEqual({ fetched: [] });
  });

  test('can have it ask for a part, and for what is behind buttons', async () => {
    const { received, act } = await stage();
    await act('open', { range: true, actions: true });
    expect(received.map(({ path }) => path).sort()).toEqual(['/button', '/one', '/two.']);
    expect(received.every(({ headers }) => headers.range !== undefined)).toBe(true);
  });
});

describe('a user who taps a link', () => {
  test.each([
    ['ios', / Line\/15\.12\.1$/],
    ['android', / Line\/15\.12\.1\/IAB$/],
    ['liff', / Line\/15\.12\.1 LIFF$/],
    ['pc', /Windows.*Safari\/537\.36$/],
  ])('opens it in the browser of %s', async (ua, agent) => {
    const { url, received, act } = await stage();
    const answer = await act('tap', { acceptSeq: 1, urlIndex: 3, ua });
    expect(answer).toMatchObject({ url: `${url}/button`, status: 200 });
    expect(received).toMatchObject([{ method: 'GET', headers: { 'user-agent': expect.stringMatching(agent) } }]);
  });

  test('must have received it, and it must not lead off this machine', async () => {
    const { act } = await stage();
    const missing = { message: expect.stringContaining('received no such link') };
    expect(await act('tap', { acceptSeq: 1, urlIndex: 4 })).toMatchObject(missing);
    expect(await act('tap', { acceptSeq: 2 })).toMatchObject(missing);
    expect(await act('tap', { acceptSeq: 1 }, 1)).toMatchObject(missing);
    expect(await act('tap', { acceptSeq: 1, urlIndex: 2 })).toMatchObject({
      message: expect.stringContaining('off this machine'),
    });
  });
});

describe('users', () => {
  const friends = async (simulator: Awaited<ReturnType<typeof start>>) => {
    const { body } = await call(simulator, '/v2/bot/followers/ids?limit=1000');
    return (body.userIds as string[]).length;
  };

  test('are blocked by a fraction, the same ones for the same seed, and come back', async () => {
    const [one, two] = [
      await start({ users: [{ prefix: 'a', count: 1_000 }] }),
      await start({ users: [{ prefix: 'a', count: 1_000 }] }),
    ];
    const block = { ...chat, fraction: 0.1, seed: 7 };
    const { changed } = (await control(one, '/users/block', block)) as { changed: number };
    expect(changed).toBeGreaterThan(60);
    expect(changed).toBeLessThan(140);
    await control(two, '/users/block', block);
    expect((await call(one, '/v2/bot/followers/ids')).body).toEqual((await call(two, '/v2/bot/followers/ids')).body);
    expect(await control(one, '/users/unblock', { ...chat, fraction: 1 })).toEqual({ changed });
    expect(await friends(one)).toBe(1_000);
    expect(await control(one, '/users/block', chat)).toMatchObject({ message: expect.stringContaining('fraction') });
  });

  test('can be added while running, without losing what the others have become', async () => {
    const simulator = await start();
    await control(simulator, '/users/block', { ...chat, userIds: [user(0)] });
    const seed = (prefix: string, count: number) =>
      control(simulator, '/users/seed', { ...chat, users: [{ prefix, count }] });
    expect(await seed('b', 5)).toEqual({ users: 15 });
    expect(await friends(simulator)).toBe(14);
    expect(await seed('b', 1)).toMatchObject({ message: expect.stringContaining('prefix') });
    expect(await friends(simulator)).toBe(14);
  });
});

test('a virtual clock moves by command only, forward and back', async () => {
  const clock = manualClock();
  const simulator = await start({}, clock);
  const move = async (command: object) => ((await control(simulator, '/clock', command)) as { now: string }).now;
  expect(await move({ mode: 'virtual' })).toBe('2026-12-01T00:00:00.000Z');
  clock.advance(5_000);
  expect(await move({ advanceMs: 1_000 })).toBe('2026-12-01T00:00:01.000Z');
  expect(await move({ advanceMs: -500 })).toBe('2026-12-01T00:00:00.500Z');
  expect(await move({ setMs: Date.parse('2027-01-01T00:00:00Z') })).toBe('2027-01-01T00:00:00.000Z');
  expect(await control(simulator, '/clock', { aheadMs: 1 })).toMatchObject({ message: expect.any(String) });
  expect(await move({ mode: 'real' })).toBe('2027-01-01T00:00:00.000Z');
  clock.advance(1_000);
  expect(await move({ advanceMs: 0 })).toBe('2027-01-01T00:00:01.000Z');
});
