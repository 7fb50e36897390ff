/**
 * What the dedup_key of an action begins with that a cycle of a time-based rule made; then come the id of the cycle, a colon and the person. No
 * quote is in it: it stands in SQL as it is.
 */
export const CYCLE_KEY_PREFIX = 'ste:';
