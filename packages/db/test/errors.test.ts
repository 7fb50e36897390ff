import { errorCode, tookTooLong, translateError } from '@dueline/db';
import { TransientError } from '@dueline/kernel';
import { DrizzleQueryError } from 'drizzle-orm';
import { expect, test } from 'vitest';

const withCode = (code: string) => Object.assign(new Error('from the database'), { code });

test.for([
  ...[
    '08000',
    '08006',
    '08P01',
    '40001',
    '40P01',
    '53300',
    '53100',
    '55P03',
    '57014',
    '57P01',
    '57P02',
    '57P03',
    '57P05',
    '25006',
    '25P03',
  ],
  ...['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
])('%s may go away by itself, wrapped or not', (code) => {
  for (const error of [withCode(code), new DrizzleQueryError('select $1', ['secret'], withCode(code))]) {
    const translated = translateError(error);
    expect(translated).toBeInstanceOf(TransientError);
    expect(translated).toMatchObject({ context: { code } });
  }
});

test('of what is transient only a statement that was ended for its time may be at fault itself', () => {
  const codes = ['57014', '57P01', '40001', '55P03', 'ETIMEDOUT', '23505'];
  expect(codes.filter((code) => tookTooLong(translateError(withCode(code))))).toEqual(['57014']);
  expect(tookTooLong(translateError(new Error('Query read timeout')))).toBe(false);
});

test.for(['23505', '23503', '23514', '22P02', '22021', '42601', '42P01', 'DL001', 'DL002', '40002', 'P0001'])(
  '%s will not, and is told by its cause',
  (code) => {
    const cause = withCode(code);
    expect(translateError(new DrizzleQueryError('select $1', ['secret'], cause))).toBe(cause);
    expect(errorCode(new DrizzleQueryError('select $1', ['secret'], cause))).toBe(code);
  },
);

test.for([
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Client was closed and is not queryable',
  'Client has encountered a connection error and is not queryable',
])('"%s", for which pg gives no code, is transient', (message) => {
  expect(translateError(new Error(message))).toBeInstanceOf(TransientError);
});

test.for([undefined, null, 'text', 7, { code: '40P01' }])('what is no error stays what it is: %j', (thrown) => {
  expect(translateError(thrown)).toBe(thrown);
  expect(errorCode(thrown)).toBeUndefined();
});
