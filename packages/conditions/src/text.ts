/**
 * A text as it is compared: in Unicode NFC, so that an accent that is a letter of its own and one that is part of its letter are the same
 * text; without case, where that is asked, by the mapping of Unicode that no language changes (ß is ss, ς is σ, and a Turkish ı is an i).
 */
export function comparable(text: string, ignoreCase = false): string {
  const composed = text.normalize('NFC');
  return ignoreCase ? composed.toLowerCase().toUpperCase().normalize('NFC') : composed;
}

/** Whether two values are the same text, number or boolean; a list or an object is the same as nothing. */
export function isSameValue(left: unknown, right: unknown, ignoreCase = false): boolean {
  if (typeof left === 'string' && typeof right === 'string')
    return comparable(left, ignoreCase) === comparable(right, ignoreCase);
  return (typeof left === 'number' || typeof left === 'boolean') && left === right;
}
