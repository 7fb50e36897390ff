import { PermanentError } from '@dueline/kernel';
import { expect, test } from 'vitest';
import { createLog, type Log, redactText } from '../src/index.ts';
import { prettyLine } from '../src/log-pretty.ts';

function capture(write: (log: Log) => void): { text: string; line: Record<string, unknown> } {
  const lines: string[] = [];
  write(
    createLog({
      service: 'worker',
      level: 'info',
      instance: 'one',
      destination: { write: (line) => void lines.push(line) },
    }),
  );
  expect(lines).toHaveLength(1);
  const text = lines.join('');
  return { text, line: JSON.parse(text) };
}

function queryError(cause?: unknown): Error {
  const error = new Error('Failed query: select $1\nparams: U-private', { cause });
  error.name = 'DrizzleQueryError';
  return Object.assign(error, { query: 'select $1', params: ['U-private'] });
}

test('a line says when, how bad, who and what', () => {
  const { line } = capture((log) => log.warn({ queue: 'q', ms: 3 }, 'a message came back'));

  expect(line).toMatchObject({ level: 'warn', service: 'worker', instance: 'one', queue: 'q', ms: 3 });
  expect(line.msg).toBe('a message came back');
  expect(Date.parse(String(line.time))).not.toBeNaN();
});

test.each<[string, (log: Log) => void]>([
  ['a member named token', (log) => log.info({ token: 'p4ss' }, 'x')],
  ['a nested channel access token', (log) => log.info({ account: { channelAccessToken: 'p4ss' } }, 'x')],
  ['a snake case secret', (log) => log.info({ channel_secret: 'a"p4ss"\\' }, 'x')],
  ['an authorization header', (log) => log.info({ headers: { Authorization: 'Bearer p4ssp4ss' } }, 'x')],
  ['a bearer token in a text', (log) => log.info({ reason: 'sent Bearer p4ssp4ss to them' }, 'x')],
  ['a password in a url', (log) => log.info({ at: 'amqp://me:p4ss@broker:5672/v' }, 'x')],
  ['a password in the url of an error', (log) => log.error({ err: new Error('no postgres://u:p4ss@h/x') }, 'x')],
  ['a token in a query string', (log) => log.info({ url: 'https://h/x?a=1&access_token=p4ss' }, 'x')],
  ['a body quoted in an error', (log) => log.error(new Error('sent {"password":"p4ss","a":1}'))],
  ['a binding of a child logger', (log) => log.child({ apiKey: 'p4ss' }).info('x')],
  ['an api key', (log) => log.info({ api_key: 'p4ss' }, 'x')],
  ['a private key', (log) => log.info({ privateKey: 'p4ss' }, 'x')],
])('no secret is written: %s', (_, write) => {
  const { text } = capture(write);

  expect(text).not.toContain('p4ss');
  expect(text).toContain('[redacted]');
});

test.each<[string, (log: Log, error: Error) => void]>([
  ['as err', (log, error) => log.error({ err: error }, 'it failed')],
  ['as err without a sentence', (log, error) => log.error({ err: error })],
  ['bare', (log, error) => log.error(error)],
  ['bare with a sentence', (log, error) => log.error(error, 'it failed')],
  ['under another key', (log, error) => log.error({ reason: error }, 'it failed')],
  ['as a cause', (log, error) => log.error({ err: new Error('outer', { cause: error }) }, 'it failed')],
  ['in an aggregate', (log, error) => log.error({ err: new AggregateError([error], 'many') }, 'it failed')],
  ['as a child binding', (log, error) => log.child({ err: error }).error('it failed')],
])('no SQL parameter is written, %s', (_, write) => {
  const cause = Object.assign(new Error('duplicate key value'), {
    code: '23505',
    constraint: 'one_wait',
    detail: 'Key (user_id)=(U-private) already exists.',
  });

  const { text } = capture((log) => write(log, queryError(cause)));

  expect(text).not.toContain('U-private');
  expect(text).not.toContain('select $1');
  expect(text).toContain('"code":"23505"');
  expect(text).toContain('"constraint":"one_wait"');
  expect(text).toContain('duplicate key value');
});

test('a failed query without a cause says only that', () => {
  const { text, line } = capture((log) => log.error({ err: queryError() }, 'it failed'));

  expect(text).not.toContain('U-private');
  expect(line.err).toEqual({ name: 'DrizzleQueryError', message: 'a query failed' });
});

test('our own errors are told with their facts and causes, without a stack', () => {
  const error = new PermanentError('the token is revoked', { context: { lineOaId: 7 }, cause: new Error('http 401') });

  const { line } = capture((log) => log.error({ err: error }, 'not sent'));

  expect(line.err).toMatchObject({
    name: 'PermanentError',
    message: 'the token is revoked',
    context: { lineOaId: 7 },
    cause: { name: 'Error', message: 'http 401' },
  });
  expect(line.err).not.toHaveProperty('stack');
});

test('an error whose causes form a ring is written', () => {
  const first = new Error('first');
  first.cause = new Error('second', { cause: first });

  expect(capture((log) => log.error({ err: first }, 'x')).text).toContain('second');
});

test('ordinary words and numbers are left alone', () => {
  const text = '{"tokens":5,"basic":"basic auth","url":"http://host:80/a","tokenId":"12"}';

  expect(redactText(text)).toBe(text);
});

test('on a terminal a line is one readable line', () => {
  const line = prettyLine(
    '{"level":"warn","time":"2026-01-01T10:00:00.000Z","service":"w","instance":"i","msg":"it\\nbroke","ms":3}\n',
  );

  expect(line).toMatch(/^\d\d:\d\d:\d\d .*WARN .* w: it broke ms=3\n$/);
});
