import { randomBytes } from 'node:crypto';
import { openSecret, sealSecret } from '@dueline/accounts';
import { PermanentError } from '@dueline/kernel';
import { expect, test } from 'vitest';

const key = randomBytes(32);
const SECRET = 'top-secret-token';
const boundTo = 'line_oa.channel_access_token/1';
const seal = () => sealSecret(key, { secret: SECRET, boundTo });

const thrownBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test.for(['x', '', 'トークン🎉', 'a'.repeat(100_000)])('a sealed secret opens again (%#)', (secret) => {
  expect(openSecret(key, { sealed: sealSecret(key, { secret, boundTo }), boundTo })).toBe(secret);
});

test('two seals of one secret differ, and neither shows it', () => {
  expect(seal()).not.toBe(seal());
  const plain = Buffer.from(seal().slice(3), 'base64url').toString('latin1');
  expect(plain).not.toContain(SECRET);
});

test('another key, row or version, and anything cut or malformed, is refused without a word of the secret', () => {
  const sealed = seal();
  const attempts = [
    () => openSecret(randomBytes(32), { sealed, boundTo }),
    () => openSecret(randomBytes(16), { sealed, boundTo }),
    () => openSecret(key, { sealed, boundTo: 'line_oa.channel_access_token/2' }),
    () => openSecret(key, { sealed: sealed.replace('v1.', 'v2.'), boundTo }),
    () => openSecret(key, { sealed: sealed.slice(0, -8), boundTo }),
    () => openSecret(key, { sealed: '', boundTo }),
    () => openSecret(key, { sealed: SECRET, boundTo }),
  ];
  for (const attempt of attempts) {
    const error = thrownBy(attempt);
    expect(error).toBeInstanceOf(PermanentError);
    expect(JSON.stringify([String(error), error, (error as Error).stack])).not.toMatch(/top-secret/);
  }
});

test('no byte of a sealed value can be changed', () => {
  const bytes = Buffer.from(seal().slice(3), 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const tampered = Buffer.from(bytes);
    tampered[at] = (tampered[at] ?? 0) ^ 1;
    expect(thrownBy(() => openSecret(key, { sealed: `v1.${tampered.toString('base64url')}`, boundTo }))).toBeInstanceOf(
      PermanentError,
    );
  }
});

test('a key of the wrong length seals nothing', () => {
  expect(() => sealSecret(randomBytes(31), { secret: SECRET, boundTo })).toThrow();
});
