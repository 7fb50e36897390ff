/**
 * The same text in a string of its own. V8 may keep a slice together with the message it was cut from, and a
 * concatenation as a tree of its pieces (a UUID then takes 700 bytes); what the ledger keeps must cost its length.
 */
export function compact(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
