/** The id of a row as a person types it: one that a bigint holds, whichever it is. */
export const ID = /^[1-9]\d{0,17}$/;
/** The id that LINE gives a person. */
export const PERSON = /^U[0-9a-f]{32}$/;
