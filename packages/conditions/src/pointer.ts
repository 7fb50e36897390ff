/** The parts of a JSON pointer (RFC 6901); undefined when it is none. The empty pointer, the whole document, has no part. */
export function pointerParts(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What stands in a document at a JSON pointer; undefined: nothing. Only what the document itself holds: `constructor` is a key like any other. */
export function valueAt(document: unknown, pointer: string): unknown {
  let value = document;
  for (const part of pointerParts(pointer) ?? [undefined]) {
    if (part === undefined || typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9][0-9]{0,8})$/.test(part)) return undefined;
    if (!Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
