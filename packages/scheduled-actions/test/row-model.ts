import { maxRetries, type ScheduledActionStatus } from '@dueline/scheduled-actions';
import { FIRST_FENCE, STATES, type StateName } from './race-states.ts';

/** What a row is, as little of it as is needed to say what becomes of it. */
export interface RowModel {
  readonly status: ScheduledActionStatus;
  readonly fence: number;
  readonly attempt: number;
  readonly retries: number;
  readonly deaths: number;
  readonly gen: number;
  readonly branch: string | null;
  readonly reason: string | null;
  /** Its time has come, the deadline of its wait, and the time of the booking it hangs on. */
  readonly isDue: boolean;
  readonly isOver: boolean;
  readonly isDatePast: boolean;
  readonly isLeaseOver: boolean;
  readonly waits: boolean;
  readonly hangsOnDate: boolean;
  readonly hasClicked: boolean;
  readonly isRuleDeleted: boolean;
}

/** What may happen to a row; the first ones happen to every row that they fit. */
export const HAPPENINGS = [
  ...(['claim', 'decide inline', 'reap', 'release of what nobody took', 'leases end'] as const),
  ...(['hold and finish', 'failed decision', 'put off', 'release'] as const),
  ...(['cancel', 'edit', 'fire now', 'revive'] as const),
  ...(['fact', 'look for facts', 'crash evidence', 'date moved', 'rule deleted'] as const),
  ...(['a stranger decides', 'a stranger cancels'] as const),
];
export type Happening = (typeof HAPPENINGS)[number];

/** Whoever names a fence: what they see is the row as it is, or as it was before its last move. */
const BY_FENCE: readonly Happening[] = [
  ...(['hold and finish', 'failed decision', 'put off', 'release', 'cancel', 'edit', 'fire now', 'revive'] as const),
];

export function rowInState(state: StateName): RowModel {
  const { status, dueIn, waits } = STATES[state];
  return {
    ...{ status, fence: FIRST_FENCE, attempt: status === 'pending' ? 0 : 1, retries: status === 'failed' ? 3 : 0 },
    ...{ deaths: 0, gen: 0, branch: null, reason: status === 'cancelled' ? 'rule_disabled' : null },
    ...{ isDue: dueIn < 0, isOver: waits && dueIn < 0, isDatePast: dueIn < 0, isLeaseOver: status === 'processing' },
    ...{ waits, hangsOnDate: !waits, hasClicked: false, isRuleDeleted: false },
  };
}

/** What became of the rows. */
export function after(
  rows: readonly RowModel[],
  { at, what, isOld }: { at: number; what: Happening; isOld: boolean },
): RowModel[] {
  const known = rows.map((row, index) => (index === at ? learn(row, what) : row));
  return known.map((row, index) => {
    const toAll = TO_ALL[what];
    if (toAll !== undefined) return toAll(row);
    return index !== at || (isOld && BY_FENCE.includes(what)) ? row : (TO_ONE[what]?.(row) ?? row);
  });
}

/** What happens in the world, whatever becomes of the row. */
function learn(row: RowModel, what: Happening): RowModel {
  if (what === 'fact' || what === 'look for facts') return { ...row, hasClicked: true };
  if (what === 'rule deleted') return { ...row, isRuleDeleted: true };
  return what === 'date moved' ? { ...row, isDatePast: false } : row;
}

const moved = (row: RowModel, changes: Partial<RowModel>): RowModel => ({ ...row, fence: row.fence + 1, ...changes });
const isOpen = ({ status }: RowModel) => status === 'pending' || status === 'processing';
/** Nobody's again; the try of a claim is given back. */
const back = (row: RowModel, changes: Partial<RowModel> = {}): RowModel =>
  moved(row, { status: 'pending', attempt: row.attempt - (row.status === 'processing' ? 1 : 0), ...changes });

type Change = (row: RowModel) => RowModel;
const when =
  (is: (row: RowModel) => boolean, change: Change): Change =>
  (row) =>
    is(row) ? change(row) : row;
const isClaimed = ({ status }: RowModel) => status === 'processing';

const TO_ALL: Partial<Record<Happening, Change>> = {
  claim: when(
    ({ status, isDue }) => status === 'pending' && isDue,
    (row) => moved(row, { status: 'processing', attempt: row.attempt + 1, isLeaseOver: false }),
  ),
  'decide inline': when(
    ({ status, isDue }) => status === 'pending' && isDue,
    (row) => ({ ...decided(row), attempt: row.attempt + 1 }),
  ),
  reap: when((row) => isClaimed(row) && row.isLeaseOver, back),
  'release of what nobody took': when(isClaimed, back),
  'leases end': when(isClaimed, (row) => ({ ...row, isLeaseOver: true })),
  'rule deleted': when(
    ({ status, isRuleDeleted }) => status === 'pending' && isRuleDeleted,
    (row) => moved(row, { status: 'cancelled', reason: 'rule_deleted' }),
  ),
};

function decided(row: RowModel): RowModel {
  const met = row.hasClicked ? 'clicked' : 'expired';
  const branch = row.branch ?? (row.waits ? met : 'due');
  const expired = branch === 'expired' ? 'wait_expired' : null;
  const reason = row.isRuleDeleted ? 'rule_deleted' : expired;
  return moved(row, { status: reason === null ? 'done' : 'cancelled', branch, reason });
}

const meetFact = when(
  ({ status, waits, branch }) => status === 'pending' && waits && branch === null,
  (row) => moved(row, { branch: 'clicked', isDue: true }),
);

/** Un-cancelled it is due when it was, revived at once; a wait waits until its deadline, and a date may have moved. */
function anew(row: RowModel): RowModel {
  const isItsTimeOver = row.hangsOnDate ? row.isDatePast : row.isDue;
  const begun = moved(row, {
    ...{ status: 'pending', gen: row.gen + 1, branch: null, reason: null, attempt: 0, retries: 0, deaths: 0 },
    isDue: (row.status === 'failed' || isItsTimeOver) && (row.isOver || !row.waits),
  });
  return row.hasClicked ? meetFact(begun) : begun;
}

const TO_ONE: Partial<Record<Happening, Change>> = {
  'hold and finish': when(isClaimed, decided),
  'failed decision': when(isClaimed, (row) =>
    row.retries >= maxRetries
      ? moved(row, { status: 'failed' })
      : moved(row, { status: 'pending', retries: row.retries + 1 }),
  ),
  'put off': when(isClaimed, back),
  release: when(isClaimed, back),
  cancel: when(isOpen, (row) => moved(row, { status: 'cancelled', reason: 'by_person' })),
  edit: when(
    (row) => isOpen(row) && row.branch === null,
    (row) => back(row, { isDue: false, isOver: false, hangsOnDate: false }),
  ),
  'fire now': when(isOpen, (row) =>
    back(row, { isDue: true, isOver: row.isOver || (row.waits && row.branch === null), hangsOnDate: false }),
  ),
  revive: when(({ status, isRuleDeleted }) => (status === 'failed' || status === 'cancelled') && !isRuleDeleted, anew),
  fact: meetFact,
  'look for facts': meetFact,
  'crash evidence': when(isOpen, (row) => ({
    ...(row.deaths === 0 ? back(row) : moved(row, { status: 'pending' })),
    deaths: row.deaths + 1,
  })),
  'date moved': when(
    (row) => isOpen(row) && row.hangsOnDate,
    (row) => back(row, { isDue: false }),
  ),
};
