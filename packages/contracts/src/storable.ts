/** Whether PostgreSQL can hold this text in `text` and `jsonb`. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

export const NOT_STORABLE = 'must not contain NUL or lone surrogates';
