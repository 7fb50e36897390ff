import { randomBytes } from 'node:crypto';

const FIRST_USE_MS = 60_000;
const REDELIVERED_USE_MS = 20 * 60_000;

/** Reply tokens of the webhook events of one channel: good for one reply, and not for long. */
export interface ReplyTokens {
  issue(user: number, atMs: number): string;
  /** An event that is delivered again makes its unused token good again, up to 20 minutes after the event. */
  renew(token: string, atMs: number): void;
  /** Whom the token answers; undefined if it is unknown, used or too old. */
  userOf(token: string, atMs: number): number | undefined;
  use(token: string): void;
}

export function createReplyTokens(): ReplyTokens {
  const open = new Map<string, { user: number; issuedAt: number; expiresAt: number }>();
  return {
    issue(user, atMs) {
      const token = randomBytes(16).toString('hex');
      open.set(token, { user, issuedAt: atMs, expiresAt: atMs + FIRST_USE_MS });
      return token;
    },
    renew(token, atMs) {
      const known = open.get(token);
      if (known !== undefined) known.expiresAt = Math.min(atMs + FIRST_USE_MS, known.issuedAt + REDELIVERED_USE_MS);
    },
    userOf(token, atMs) {
      const known = open.get(token);
      return known !== undefined && atMs <= known.expiresAt ? known.user : undefined;
    },
    use: (token) => void open.delete(token),
  };
}
