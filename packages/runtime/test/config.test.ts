import { expect, test } from 'vitest';
import { z } from 'zod';
import { baseConfig, ConfigError, describeConfig, parseConfig, seconds, testOnly } from '../src/index.ts';

const schema = baseConfig.extend({
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).describe('The database.'),
  API_TOKEN: z.string().min(20).describe('Signs requests.'),
  CLAIM_LEASE_SECONDS: seconds({ default: 300, productionMinimum: 60, description: 'How long a claim holds.' }),
  CRASH_POINT: testOnly(z.enum(['after-commit']), 'Where to crash.'),
});
const good = { DATABASE_URL: 'postgres://db/x', API_TOKEN: 'x'.repeat(20) };

function messageOf(env: Record<string, string>): string {
  try {
    parseConfig(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

test('a minimal environment gets the defaults that are safe in production', () => {
  const config = parseConfig(schema, { ...good, UNKNOWN: 'ignored' });

  expect(config).toMatchObject({ ...good, DUELINE_ENV: 'production', LOG_LEVEL: 'info', HTTP_PORT: 8080 });
  expect(config).toMatchObject({ HTTP_HOST: '0.0.0.0', SHUTDOWN_TIMEOUT_SECONDS: 25, CLAIM_LEASE_SECONDS: 300 });
  expect(config.INSTANCE_NAME).not.toBe('');
  expect(config).not.toHaveProperty('UNKNOWN');
  expect(config.OTEL_EXPORTER_OTLP_ENDPOINT).toBeUndefined();
  expect(config.DUELINE_PARENT_PID).toBeUndefined();
});

test('an empty or blank string counts as not given', () => {
  expect(parseConfig(schema, { ...good, HTTP_PORT: ' ', OTEL_EXPORTER_OTLP_ENDPOINT: '' }).HTTP_PORT).toBe(8080);
  expect(messageOf({ ...good, API_TOKEN: '' })).toContain('API_TOKEN: is missing');
});

test('all problems are told at once, each with what is expected', () => {
  const message = messageOf({
    HTTP_PORT: '99999',
    LOG_LEVEL: 'loud',
    API_TOKEN: 'short',
    DUELINE_PARENT_PID: '1.5',
    CLAIM_LEASE_SECONDS: '2',
    CRASH_POINT: 'after-commit',
  });

  const lines = message.split('\n').slice(1);
  expect(lines.map((line) => line.trim().split(':')[0])).toEqual([
    'LOG_LEVEL',
    'HTTP_PORT',
    'DUELINE_PARENT_PID',
    'DATABASE_URL',
    'API_TOKEN',
    'CLAIM_LEASE_SECONDS',
    'CRASH_POINT',
  ]);
  expect(message).toContain('DATABASE_URL: is missing. Expected: url. The database.');
  expect(message).toContain('Expected: integer from 0 to 65535');
  expect(message).toContain('Expected: one of fatal, error');
});

test('no value of a variable is repeated in the error', () => {
  const env = { DATABASE_URL: 'mysql://u:pa55@h/x', API_TOKEN: 'sekret', LOG_LEVEL: 'wrongness', HTTP_PORT: '77777' };

  const message = messageOf(env);

  for (const value of Object.values(env)) expect(message).not.toContain(value);
});

test('production refuses leases and seams that tests may use', () => {
  const env = { ...good, CLAIM_LEASE_SECONDS: '2', CRASH_POINT: 'after-commit' };

  expect(messageOf(env)).toContain('CLAIM_LEASE_SECONDS: is below 60, the minimum unless DUELINE_ENV is test');
  expect(messageOf(env)).toContain('CRASH_POINT: is allowed only where DUELINE_ENV is test');
  expect(messageOf({ ...env, DUELINE_ENV: 'production' })).toContain('is below 60');
  expect(messageOf({ ...env, DUELINE_ENV: 'Test' })).toContain('is below 60');
  expect(parseConfig(schema, { ...env, DUELINE_ENV: 'test' })).toMatchObject({
    CLAIM_LEASE_SECONDS: 2,
    CRASH_POINT: 'after-commit',
  });
});

test('an interval that no timer holds is refused [SEM-009]', () => {
  expect(messageOf({ ...good, CLAIM_LEASE_SECONDS: '2147484' })).toContain('CLAIM_LEASE_SECONDS');
});

test('a schema is described as rows that do not depend on the machine', () => {
  const rows = new Map(describeConfig(schema).map((row) => [row.name, row]));

  expect(rows.get('HTTP_PORT')).toMatchObject({
    type: 'integer from 0 to 65535',
    default: '8080',
    required: false,
  });
  expect(rows.get('INSTANCE_NAME')).toMatchObject({ type: 'string', default: 'the host name' });
  expect(rows.get('DATABASE_URL')).toMatchObject({ type: 'url', default: undefined, required: true });
  expect(rows.get('CLAIM_LEASE_SECONDS')?.type).toBe('number from 0.05 to 2147483 (production: from 60)');
  expect(rows.get('CRASH_POINT')).toMatchObject({ type: 'one of after-commit (tests only)', required: false });
  for (const row of rows.values()) expect(row.description, row.name).not.toBe('');
});
