/** The id of a row as a person types it: one that a bigint holds, whichever it is. */
export const ID = /^[1-9]\d{0,17}$/;
