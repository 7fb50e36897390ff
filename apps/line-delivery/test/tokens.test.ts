import type { ChannelCredentials } from '@dueline/accounts';
import type { TokenIssue } from '@dueline/line-client';
import { expect, test, vi } from 'vitest';
import { namesRecipient } from '../src/judge-refusal.ts';
import { createTokens, TokenRefusedError } from '../src/tokens.ts';

const stateless: ChannelCredentials = { kind: 'stateless', channelId: '1', channelSecret: 's' };
const stored = (channelAccessToken: string): ChannelCredentials => ({ kind: 'stored', channelAccessToken });

function stage(credentials: () => ChannelCredentials = () => stateless) {
  let nowMs = 0;
  let issued = 0;
  const issueStatelessToken = vi.fn(async (): Promise<TokenIssue> => {
    issued += 1;
    return { kind: 'issued', channelAccessToken: `t${issued}`, expiresInSeconds: 900 };
  });
  const load = vi.fn(async () => credentials());
  const line = { issueStatelessToken, issueShortLivedToken: issueStatelessToken };
  const tokens = createTokens({ load, line, clockMs: () => nowMs });
  return {
    ...{ tokens, load, issue: issueStatelessToken },
    pass: (seconds: number) => {
      nowMs += seconds * 1_000;
    },
  };
}

test('all that ask for a token at the same moment share one, until shortly before it ends', async () => {
  const { tokens, issue, pass } = stage();
  expect(await Promise.all([tokens.get('a'), tokens.get('a'), tokens.get('a')])).toEqual(['t1', 't1', 't1']);
  expect(await tokens.get('b')).toBe('t2');
  pass(839);
  expect(await tokens.get('a')).toBe('t1');
  pass(2);
  expect(await tokens.get('a')).toBe('t3');
  expect(issue).toHaveBeenCalledTimes(3);
});

test('a token that LINE rejects is replaced once, however many were refused with it', async () => {
  const { tokens, issue } = stage();
  const token = await tokens.get('a');
  const answers = await Promise.all([1, 2, 3, 4].map(() => tokens.rejected('a', token)));
  expect(answers).toEqual(['again', 'again', 'again', 'again']);
  expect([await tokens.get('a'), issue.mock.calls.length]).toEqual(['t2', 2]);
});

test('a second token that LINE rejects ends it, unless it had worked before', async () => {
  const { tokens } = stage();
  await tokens.rejected('a', await tokens.get('a'));
  expect(await tokens.rejected('a', await tokens.get('a'))).toBe('refused');

  await tokens.rejected('b', await tokens.get('b'));
  tokens.worked('b', await tokens.get('b'));
  expect(await tokens.rejected('b', await tokens.get('b'))).toBe('again');
});

test('a stored token is read again when LINE rejects it, and is the end when it is the same', async () => {
  let token = 'old';
  const { tokens, load } = stage(() => stored(token));
  await tokens.get('a');
  token = 'new';
  expect(await tokens.rejected('a', 'old')).toBe('again');
  expect(await tokens.get('a')).toBe('new');
  tokens.worked('a', 'new');
  expect(await tokens.rejected('a', 'new')).toBe('refused');
  expect(load).toHaveBeenCalledTimes(3);
});

test('a stored token is read again every minute', async () => {
  const { tokens, load, pass } = stage(() => stored('x'));
  await tokens.get('a');
  pass(59);
  await tokens.get('a');
  pass(2);
  await tokens.get('a');
  expect(load).toHaveBeenCalledTimes(2);
});

test('what LINE refuses to issue is told from what it could not issue now, and neither is remembered', async () => {
  const { tokens, issue } = stage();
  issue.mockResolvedValueOnce({ kind: 'refused', detail: '400 invalid client_secret' });
  await expect(tokens.get('a')).rejects.toThrow(TokenRefusedError);
  issue.mockResolvedValueOnce({ kind: 'failed', detail: '500' });
  await expect(tokens.get('a')).rejects.not.toThrow(TokenRefusedError);
  const token = await tokens.get('a');
  issue.mockResolvedValueOnce({ kind: 'failed', detail: '500' });
  expect(await tokens.rejected('a', token)).toBe('again');
  const other = await tokens.get('a');
  issue.mockResolvedValueOnce({ kind: 'refused', detail: '400' });
  expect(await tokens.rejected('a', other)).toBe('refused');
});

test.for([
  ["400 The property, 'to[3]', in the request body is invalid (line: -, column: -)", true],
  ["400 The property, 'to', in the request body is invalid (line: -, column: -)", true],
  ['400 The request body has 1 error(s); to[12]: May not be empty', true],
  ['400 Failed to send messages', true],
  ['400 The request body has 1 error(s)', false],
  ['400 The request body has 1 error(s); messages[0].text: May not be empty', false],
] as const)('%s names a recipient: %s', ([detail, isNamed]) => {
  expect(namesRecipient(detail)).toBe(isNamed);
});
