import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';

const ITERATIONS = 4_096;
const KEY_BYTES = 32;

const base64 = (bytes: Buffer): string => bytes.toString('base64');

/**
 * What PostgreSQL keeps of a password, so that the password itself is in no statement, and in no log of statements.
 *
 * @see RFC 5803, and scram_build_secret() of PostgreSQL.
 */
export function scramVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, 'sha256');
  const keyed = (name: string) => createHmac('sha256', salted).update(name).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest();
  return `SCRAM-SHA-256$${ITERATIONS}:${base64(salt)}$${base64(storedKey)}:${base64(keyed('Server Key'))}`;
}
