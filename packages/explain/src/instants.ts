/** Microseconds of a second: instants are compared in microseconds of the epoch. */
export const SECOND = 1_000_000;
