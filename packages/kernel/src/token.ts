import { createHash, randomBytes } from 'node:crypto';

/** What only who was shown a preview can name: 128 random bits. Hex, because a dash in front would be an option. */
export const newToken = (): string => randomBytes(16).toString('hex');

/** What the database keeps of a token: a copy of the database confirms nothing. */
export const tokenDigest = (token: string): string => createHash('sha256').update(token).digest('hex');
