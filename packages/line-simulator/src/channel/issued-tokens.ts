import { randomBytes } from 'node:crypto';

/** `stateless`: v3, 15 minutes, as many as wanted; `shortLived`: v2, 30 days; `assertion`: v2.1, at most 30 days. */
export type TokenKind = 'stateless' | 'shortLived' | 'assertion';

interface IssuedToken {
  readonly value: string;
  readonly kind: TokenKind;
  readonly keyId: string;
  readonly expiresAt: number;
}

/** The access tokens that one channel was issued and that are neither expired nor revoked. */
export interface IssuedTokens {
  issue(kind: TokenKind, expiresAt: number): IssuedToken;
  isLive(token: string, atMs: number): boolean;
  /** Oldest first. */
  live(kind: TokenKind, atMs: number): IssuedToken[];
  revoke(token: string): void;
}

const ISSUED = /^issued-(\d+)-/;

/** Place of the channel that a token was issued to; undefined if its shape is none of ours. */
export function refOfToken(token: string): number | undefined {
  const ref = ISSUED.exec(token)?.[1];
  return ref === undefined ? undefined : Number(ref);
}

export function createIssuedTokens(ref: number): IssuedTokens {
  const tokens = new Map<string, IssuedToken>();
  return {
    issue(kind, expiresAt) {
      const value = `issued-${ref}-${randomBytes(24).toString('base64url')}`;
      const token = { value, kind, keyId: randomBytes(16).toString('base64url'), expiresAt };
      tokens.set(value, token);
      return token;
    },
    isLive(token, atMs) {
      const known = tokens.get(token);
      return known !== undefined && atMs < known.expiresAt;
    },
    live(kind, atMs) {
      for (const token of tokens.values()) if (token.expiresAt <= atMs) tokens.delete(token.value);
      return [...tokens.values()].filter((token) => token.kind === kind);
    },
    revoke: (token) => void tokens.delete(token),
  };
}
