import { createOverdueLooks, type OverdueLooks } from './overdue.ts';
import { createPace } from './pace.ts';
import { createPlaces, type Place, type Span } from './places.ts';
import { createKeptProcessing, type KeptProcessing } from './processing.ts';

/** An account's rows of one lane, as far as they may be due. */
export interface DueAccount {
  readonly lane: number;
  readonly lineOaId: string;
  /** Where the claim begins; null: it takes rows however old. */
  readonly from: Place | null;
}

/** What a look told of an account: when its oldest row is due, in seconds of the epoch, yet never later than a moment ago. */
export interface MetAccount {
  readonly lane: number;
  readonly lineOaId: string;
  readonly oldest: number;
}

/** What a claim took: from whom, at which share in the end, whether it was full, and whether it was so before all had been asked. */
interface Taken {
  readonly spans: ReadonlyMap<string, Span>;
  readonly lateSeconds: number;
  readonly share: number;
  readonly isFull: boolean;
  readonly wasCut: boolean;
}

/** Which accounts may have due rows, and where to go on among them: one list for each claimer, kept between its claims. */
export interface DueAccounts extends OverdueLooks, KeptProcessing {
  /** Somebody made rows due: the next claim looks for accounts first, and takes rows however old, unless that is slow. */
  wake(): void;
  /** The transaction of the last claim was rolled back: the next one begins with the rows that it took. */
  rolledBack(): void;
  /** What the next claim has to do first: find all accounts anew, look at what is new, or nothing. */
  wants(): 'scan' | 'look' | undefined;
  /** All accounts with rows that are due before the next scan. */
  scanned(accounts: readonly MetAccount[]): void;
  /** Accounts that a look met; `isPartial` when it could not see everything. */
  met(accounts: readonly MetAccount[], options?: { isPartial: boolean }): void;
  /** The accounts for one claim of `limit` rows, in the order in which they are asked, and how much each may give at first. */
  turn(limit: number): { readonly accounts: readonly DueAccount[]; readonly share: number };
  /** That claim came back short: the same accounts, however old their rows; undefined: not now. */
  again(): readonly DueAccount[] | undefined;
  took(taken: Taken): void;
}

/** Between two looks or scans before a claim; of a woken claimer in the rhythm to which NOTIFY is gated. */
const PAUSE_MS = 1_000;
const WOKEN_PAUSE_MS = 10;
/** A scan costs a probe for each account: it may take this part of a claimer's time, and more when a look could not see everything. */
const SCAN_SHARE = 1 / 50;
const URGENT_SCAN_SHARE = 1 / 5;
/** One turn in so many goes through the lanes backwards, so that bulk never starves. */
const REVERSE_EVERY = 10;

export const accountKey = ({ lane, lineOaId }: { lane: number; lineOaId: string }): string => `${lane}:${lineOaId}`;

/**
 * The list that one claimer keeps. Accounts that got nothing last time come first within their lane, the others in random order,
 * so that no account, however many rows it has, delays another by more than one claim.
 */
export function createDueAccounts(clock: () => number = () => performance.now()): DueAccounts {
  const places = createPlaces(clock);
  const found = createFoundAccounts(clock);
  let lastFed: ReadonlySet<string> = new Set();
  let asked: readonly MetAccount[] = [];
  let turns = 0;
  let share = 1;
  const learn = (accounts: readonly MetAccount[]) => {
    for (const account of accounts) places.raise(accountKey(account), { at: account.oldest, id: '0' });
  };
  const from = (isAnyAge: boolean) =>
    asked.map((account) => ({ ...account, from: isAnyAge ? null : places.of(accountKey(account)) }));
  return {
    ...createOverdueLooks(clock),
    ...createKeptProcessing(clock),
    wake: () => {
      found.wake();
      places.wake();
    },
    rolledBack: places.rolledBack,
    wants: found.wants,
    scanned: (accounts) => {
      found.scanned(accounts);
      places.keepOnly(new Set(accounts.map(accountKey)));
      learn(accounts);
    },
    met: (accounts, options = { isPartial: false }) => learn(found.met(accounts, options)),
    turn: (limit) => {
      turns += 1;
      asked = inTurn(found.all(), { isReversed: turns % REVERSE_EVERY === 0, lastFed });
      return {
        accounts: asked.length === 0 ? [] : from(places.begin()),
        share: Math.min(limit, Math.max(share, Math.ceil(limit / Math.max(1, asked.length)))),
      };
    },
    again: () => (places.again() ? from(true) : undefined),
    took: (taken) => {
      lastFed = new Set(taken.spans.keys());
      share = taken.wasCut ? 1 : taken.share;
      places.took(taken.spans, taken);
    },
  };
}

/** The accounts that scans and looks found, and when to scan or look again. */
function createFoundAccounts(clock: () => number) {
  let known = new Map<string, MetAccount>();
  const scans = createPace(clock);
  let lookedAt = Number.NEGATIVE_INFINITY;
  let [isWoken, isPartial] = [false, false];
  return {
    all: (): readonly MetAccount[] => [...known.values()],
    wake: () => {
      isWoken = true;
    },
    wants: () => {
      const pauseMs = isWoken ? WOKEN_PAUSE_MS : PAUSE_MS;
      const isScanDue = isPartial
        ? scans.isDue({ pauseMs: 0, share: URGENT_SCAN_SHARE })
        : scans.isDue({ pauseMs, share: SCAN_SHARE });
      if (!isScanDue && clock() - lookedAt < pauseMs) return undefined;
      isWoken = false;
      if (isScanDue) scans.begin();
      return isScanDue ? ('scan' as const) : ('look' as const);
    },
    scanned: (accounts: readonly MetAccount[]) => {
      known = new Map(accounts.map((account) => [accountKey(account), account]));
      lookedAt = clock();
      isPartial = false;
      scans.end();
    },
    /** Returns those that are new. */
    met: (accounts: readonly MetAccount[], options: { isPartial: boolean }): MetAccount[] => {
      const news = accounts.filter((account) => !known.has(accountKey(account)));
      for (const account of news) known.set(accountKey(account), account);
      lookedAt = clock();
      isPartial ||= options.isPartial;
      return news;
    },
  };
}

function inTurn(
  accounts: readonly MetAccount[],
  { isReversed, lastFed }: { isReversed: boolean; lastFed: ReadonlySet<string> },
): MetAccount[] {
  const direction = isReversed ? -1 : 1;
  return accounts
    .map((account) => ({ account, rank: (lastFed.has(accountKey(account)) ? 1 : 0) + Math.random() }))
    .sort((left, right) => direction * (left.account.lane - right.account.lane) || left.rank - right.rank)
    .map(({ account }) => account);
}
