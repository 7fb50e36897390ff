/** An account's rows of one lane, as far as they may be due. */
export interface DueAccount {
  readonly lane: number;
  readonly lineOaId: string;
  /** No row is older than this, in seconds of the epoch; null: take them however old. */
  readonly low: number | null;
}

/** What a look told of an account: when its oldest row is due, in seconds of the epoch. */
export interface MetAccount {
  readonly lane: number;
  readonly lineOaId: string;
  readonly oldest: number;
}

/** Which accounts may have due rows: one list for each claimer, kept between its claims. */
export interface DueAccounts {
  /** Somebody made rows due: the next claim looks for accounts first, and takes rows however old. */
  wake(): void;
  /** What the next claim has to do first: find all accounts anew, look at what is new, or nothing. */
  wants(): 'scan' | 'look' | undefined;
  /** All accounts with rows that are due before the next scan, found in `tookMs`. */
  scanned(accounts: readonly MetAccount[], tookMs: number): void;
  /** Accounts that a look met; `isPartial` when it could not see everything. */
  met(accounts: readonly MetAccount[], options?: { isPartial: boolean }): void;
  /** The accounts for one claim of `limit` rows, in the order in which they are asked, and how much each may give at first. */
  turn(limit: number): { readonly accounts: readonly DueAccount[]; readonly share: number };
  /** What that claim took: from whom, at which share in the end, and whether it was full before all had been asked. */
  took(result: { fed: ReadonlySet<string>; share: number; wasCut: boolean }): void;
}

/** Rows before the oldest pending one that a claim still takes: what is released or moved into the past meanwhile. */
const LOW_MARGIN_SECONDS = 3_600;
const SCAN_EVERY_MS = 60_000;
/** Between two looks or scans before a claim; of a woken claimer in the rhythm to which NOTIFY is gated. */
const PAUSE_MS = 1_000;
const WOKEN_PAUSE_MS = 10;
/** A scan costs a probe for each account: it may take this part of a claimer's time. */
const SCAN_SHARE = 1 / 50;
/** One turn in so many goes through the lanes backwards, so that bulk never starves. */
const REVERSE_EVERY = 10;

export const accountKey = ({ lane, lineOaId }: { lane: number; lineOaId: string }): string => `${lane}:${lineOaId}`;

/**
 * The list that one claimer keeps. Accounts that got nothing last time come first within their lane, the others in random order,
 * so that no account, however many rows it has, delays another by more than one claim.
 */
export function createDueAccounts(clock: () => number = () => performance.now()): DueAccounts {
  let known = new Map<string, MetAccount>();
  let lastFed: ReadonlySet<string> = new Set();
  let scan = { at: Number.NEGATIVE_INFINITY, tookMs: 0 };
  let lookedAt = Number.NEGATIVE_INFINITY;
  let isWoken = false;
  let takesAnyAge = false;
  let turns = 0;
  let share = 1;
  return {
    wake: () => {
      isWoken = true;
    },
    wants: () => {
      const now = clock();
      const pauseMs = isWoken ? WOKEN_PAUSE_MS : PAUSE_MS;
      const isScanDue = now - scan.at >= Math.max(pauseMs, Math.min(SCAN_EVERY_MS, scan.tookMs / SCAN_SHARE));
      if (!isScanDue && now - lookedAt < pauseMs) return undefined;
      takesAnyAge = isWoken;
      isWoken = false;
      return isScanDue ? 'scan' : 'look';
    },
    scanned: (accounts, tookMs) => {
      known = new Map(accounts.map((account) => [accountKey(account), account]));
      lookedAt = clock();
      scan = { at: lookedAt, tookMs };
    },
    met: (accounts, options) => {
      for (const account of accounts) {
        const key = accountKey(account);
        const oldest = Math.min(account.oldest, known.get(key)?.oldest ?? account.oldest);
        known.set(key, { ...account, oldest });
      }
      lookedAt = clock();
      if (options?.isPartial) scan = { at: Number.NEGATIVE_INFINITY, tookMs: 0 };
    },
    turn: (limit) => {
      turns += 1;
      const accounts = inTurn([...known.values()], { isReversed: turns % REVERSE_EVERY === 0, lastFed }).map(
        ({ lane, lineOaId, oldest }) => ({ lane, lineOaId, low: takesAnyAge ? null : oldest - LOW_MARGIN_SECONDS }),
      );
      takesAnyAge = false;
      return { accounts, share: Math.min(limit, Math.max(share, Math.ceil(limit / Math.max(1, accounts.length)))) };
    },
    took: (result) => {
      lastFed = result.fed;
      share = result.wasCut ? 1 : result.share;
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
