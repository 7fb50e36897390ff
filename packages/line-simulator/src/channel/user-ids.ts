const USER_ID = /^U[0-9a-f]{32}$/;
const HEAD_LENGTH = 25;

/** Whether a string has the shape of a LINE user id. */
export function isUserId(value: unknown): value is string {
  return typeof value === 'string' && USER_ID.test(value);
}

/** What all ids of a prefix share: `U`, the prefix, and zeros up to the last eight digits. */
export function userIdHead(prefix: string): string {
  return `U${prefix}`.padEnd(HEAD_LENGTH, '0');
}

/**
 * The n-th user of a group that is seeded by prefix and count: `U`, the prefix, and n in hex, 33 characters in all.
 *
 * @param prefix Lower-case hex digits, 24 at most; one channel uses a prefix once.
 * @param n 0 to count - 1.
 */
export function nthUserId(prefix: string, n: number): string {
  return userIdHead(prefix) + n.toString(16).padStart(8, '0');
}

/** The n of an id that begins with this head; the id must be a user id. */
export function numberWithin(head: string, userId: string): number | undefined {
  return userId.startsWith(head) ? Number.parseInt(userId.slice(HEAD_LENGTH), 16) : undefined;
}
