const LID = /\[\[lid:([A-Za-z0-9:._-]{1,64})\]\]/g;

/** The distinct logical ids `[[lid:...]]` in any string of the messages, in the order they appear. */
export function extractLids(messages: readonly unknown[]): string[] {
  const lids = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      if (!value.includes('[[lid:')) return;
      for (const [, lid] of value.matchAll(LID)) if (lid !== undefined) lids.add(lid);
    } else if (typeof value === 'object' && value !== null) {
      Object.values(value).forEach(visit);
    }
  };
  messages.forEach(visit);
  return [...lids];
}
