/** People of a campaign by what became of their request; of those that were split the parts count, not the whole. */
export type EvidencePeople = Readonly<
  Record<'accepted' | 'invalid' | 'refused' | 'unknown' | 'expired' | 'cancelled' | 'open', number>
>;

/** What the last line of an evidence file sums up. */
export interface EvidenceTotals {
  readonly requests: number;
  /** Null: a broadcast, whose people LINE alone knows. */
  readonly people: EvidencePeople | null;
}

export const NO_PEOPLE: EvidencePeople = {
  ...{ accepted: 0, invalid: 0, refused: 0, unknown: 0, expired: 0, cancelled: 0, open: 0 },
};

interface Counted {
  readonly status: string;
  readonly people: number | null;
  readonly reasonCode?: unknown;
}

/** Pure: the totals with one request more. */
export function addPeople({ requests, people }: EvidenceTotals, request: Counted): EvidenceTotals {
  const more = requests + 1;
  if (people === null || request.people === null) return { requests: more, people: null };
  const end = endOf(request);
  return { requests: more, people: end === undefined ? people : { ...people, [end]: people[end] + request.people } };
}

function endOf({ status, reasonCode }: Counted): keyof EvidencePeople | undefined {
  if (status === 'split') return undefined;
  if (status === 'refused') return reasonCode === 'invalid_recipient' ? 'invalid' : 'refused';
  if (status === 'accepted' || status === 'unknown' || status === 'expired' || status === 'cancelled') return status;
  return 'open';
}
