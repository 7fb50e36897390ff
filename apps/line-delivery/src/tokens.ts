import type { ChannelCredentials } from '@dueline/accounts';
import { PermanentError, TransientError } from '@dueline/kernel';
import type { LineAccountClient } from '@dueline/line-client';

/** LINE does not take the credentials of an account: somebody must store others. */
export class TokenRefusedError extends PermanentError {}

/** The channel access tokens of this process. */
export interface Tokens {
  /**
   * The account's token: shared by all that ask at the same moment, and got anew shortly before it ends.
   *
   * @throws TokenRefusedError when LINE issues none for its credentials, PermanentError when it has none, TransientError when LINE did not
   * answer.
   */
  get(lineOaId: string): Promise<string>;
  /** LINE took this token. */
  worked(lineOaId: string, token: string): void;
  /**
   * LINE answered 401 to this token: gets another one, once for all that were refused with it.
   *
   * @returns `again`: there is another one to try; `refused`: it was the other one already, or there is none.
   */
  rejected(lineOaId: string, token: string): Promise<'again' | 'refused'>;
}

interface Entry {
  readonly loading: Promise<Loaded>;
  /** Taken in place of one that LINE had rejected. */
  readonly isSecond: boolean;
  token: string | undefined;
  untilMs: number;
  hasWorked: boolean;
}

interface Loaded {
  readonly token: string;
  readonly livesMs: number;
}

/** How long a stored token is used before the row is read again. */
const STORED_TTL_MS = 60_000;
/** A token is not used in the last tenth of its life; a minute is enough. */
const MARGIN = { share: 0.1, maxMs: 60_000 };

/**
 * @param options.load What an account gets its token by.
 * @param options.clockMs Milliseconds of process time.
 */
export function createTokens({
  load,
  line,
  clockMs = () => performance.now(),
}: {
  load: (lineOaId: string) => Promise<ChannelCredentials>;
  line: Pick<LineAccountClient, 'issueStatelessToken' | 'issueShortLivedToken'>;
  clockMs?: () => number;
}): Tokens {
  const entries = new Map<string, Entry>();

  const entryOf = (lineOaId: string, isSecond: boolean): Entry => {
    const known = entries.get(lineOaId);
    if (known !== undefined && known.untilMs > clockMs()) return known;
    const entry: Entry = {
      loading: load(lineOaId).then((credentials) => tokenFor(credentials, line)),
      ...{ isSecond, token: undefined, untilMs: Number.POSITIVE_INFINITY, hasWorked: false },
    };
    entries.set(lineOaId, entry);
    entry.loading.then(
      ({ token, livesMs }) => {
        entry.token = token;
        entry.untilMs = clockMs() + livesMs;
      },
      () => forget(lineOaId, entry),
    );
    return entry;
  };
  const forget = (lineOaId: string, entry: Entry) => {
    if (entries.get(lineOaId) === entry) entries.delete(lineOaId);
  };
  const get = async (lineOaId: string, isSecond = false) => (await entryOf(lineOaId, isSecond).loading).token;

  return {
    get: (lineOaId) => get(lineOaId),
    worked(lineOaId, token) {
      const entry = entries.get(lineOaId);
      if (entry?.token === token) entry.hasWorked = true;
    },
    async rejected(lineOaId, token) {
      const entry = entries.get(lineOaId);
      if (entry?.token === token) {
        forget(lineOaId, entry);
        if (entry.isSecond && !entry.hasWorked) return 'refused';
      }
      try {
        return (await get(lineOaId, true)) === token ? 'refused' : 'again';
      } catch (error) {
        return error instanceof TokenRefusedError ? 'refused' : 'again'; // who sends next meets what is wrong
      }
    },
  };
}

async function tokenFor(
  credentials: ChannelCredentials,
  line: Pick<LineAccountClient, 'issueStatelessToken' | 'issueShortLivedToken'>,
): Promise<Loaded> {
  if (credentials.kind === 'stored') return { token: credentials.channelAccessToken, livesMs: STORED_TTL_MS };
  const issue = credentials.kind === 'stateless' ? line.issueStatelessToken : line.issueShortLivedToken;
  const issued = await issue(credentials);
  if (issued.kind !== 'issued') {
    const why = `LINE issued no token: ${issued.detail}`;
    throw issued.kind === 'refused' ? new TokenRefusedError(why) : new TransientError(why);
  }
  const lifeMs = issued.expiresInSeconds * 1_000;
  return {
    token: issued.channelAccessToken,
    livesMs: lifeMs - Math.min(MARGIN.maxMs, lifeMs * MARGIN.share),
  };
}
