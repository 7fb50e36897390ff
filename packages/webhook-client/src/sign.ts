import { createHmac } from 'node:crypto';

/** What of a secret is no key. */
const SECRET_PREFIX = 'whsec_';

/**
 * The `webhook-signature` of a request: HMAC-SHA256 over `<id>.<timestamp>.<body>`, as libraries for receivers expect it. Source: Standard
 * Webhooks 1.0.0, "Signature scheme".
 *
 * @param secret `whsec_` and the key in base64.
 */
export function signatureOf(
  { id, timestamp, body }: { id: string; timestamp: string; body: string },
  secret: string,
): string {
  const key = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}
