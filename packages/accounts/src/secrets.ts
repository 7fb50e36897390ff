import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { PermanentError } from '@dueline/kernel';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Prefix of a sealed value: names algorithm and layout, so that another one can follow. */
const VERSION = 'v1';

/**
 * Seals a secret with AES-256-GCM under a fresh nonce. `boundTo` names the column and row it belongs to: a sealed value
 * that is copied into another row does not open.
 *
 * @param key 32 bytes.
 */
export function sealSecret(key: Buffer, { secret, boundTo }: { secret: string; boundTo: string }): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(boundTo));
  const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
}

/** @throws PermanentError when key, row or value do not fit together; the message says nothing of the secret. */
export function openSecret(key: Buffer, { sealed, boundTo }: { sealed: string; boundTo: string }): string {
  const [version, body = ''] = sealed.split('.');
  const bytes = Buffer.from(body, 'base64url');
  if (version !== VERSION || bytes.length < NONCE_BYTES + TAG_BYTES)
    throw new PermanentError('sealed secret is malformed');
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(boundTo))
      .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw new PermanentError('sealed secret does not open with this key for this row', { cause });
  }
}
