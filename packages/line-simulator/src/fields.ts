/** An object as JSON gives it, nothing of which is known. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object with fields. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
