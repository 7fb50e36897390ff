import { openAttention } from '@dueline/attention';
import { type Db, inTransaction } from '@dueline/db';
import {
  claimSentDays,
  countSentDays,
  deficitOf,
  lookLater,
  type PeopleByEndpoint,
  recordComparison,
  type SentDay,
} from '@dueline/deliveries';
import { errorText } from '@dueline/kernel';
import type { CountedEndpoint, SentCount, SentCountClient } from '@dueline/line-client';
import type { Log } from '@dueline/mq';

export interface CompareDeps {
  readonly db: Db;
  readonly line: Pick<SentCountClient, 'sentOn'>;
  readonly log: Log;
  readonly channelAccessToken: (lineOaId: string) => Promise<string>;
  /** Of the people whom LINE should have counted, so many may be missing before anybody is told, in percent. */
  readonly tolerancePercent: number;
  readonly onCompared: (result: 'agrees' | 'deficit' | 'not_told') => void;
}

/** Days asked about at once; each is three requests. */
const BATCH = 20;
const LEASE_SECONDS = 60;
const ASK_AGAIN_SECONDS = 3_600;
/** Fewer than this many missing people are never worth a person's time: some delete their account every day. */
const ALWAYS_TOLERATED = 10;

/**
 * Compares what LINE counts for each account and day that is over with what it had accepted from us. Where people are missing beyond those who
 * are known to have blocked the account and the tolerance, LINE may have lost messages that it had accepted: an item tells a person, with
 * the figures. Nothing is sent again.
 *
 * @returns One look, at all that is due; any number of processes may take it.
 */
export const compareSentCounts = (deps: CompareDeps) => async (): Promise<void> => {
  await countSentDays(deps.db);
  for (;;) {
    const days = await claimSentDays(deps.db, { limit: BATCH, leaseSeconds: LEASE_SECONDS });
    if (days.length === 0) return;
    await Promise.all(days.map((day) => compareDay(deps, day)));
  }
};

async function compareDay(deps: CompareDeps, sent: SentDay): Promise<void> {
  const theirs = await askLine(deps, sent);
  if (typeof theirs === 'string') {
    deps.log.debug({ lineOaId: sent.lineOaId, day: sent.day, why: theirs }, 'LINE does not tell yet what it sent');
    await lookLater(deps.db, sent, { seconds: ASK_AGAIN_SECONDS });
    return deps.onCompared('not_told');
  }
  const expected = sum(sent.ours.accepted) - sum(sent.ours.blocked);
  const deficit = deficitOf(sent.ours, theirs);
  const tolerated = Math.max(ALWAYS_TOLERATED, Math.ceil((expected * deps.tolerancePercent) / 100));
  const isLoss = deficit > tolerated;
  const isMine = await inTransaction(deps.db, async (tx) => {
    if (!(await recordComparison(tx, sent, { theirs, deficit, tolerated }))) return false;
    if (isLoss) await openAttention(tx, [itemOf(sent, theirs, { deficit, tolerated })]);
    return true;
  });
  if (isMine) deps.onCompared(isLoss ? 'deficit' : 'agrees');
}

const itemOf = (
  { organizationId, lineOaId, day, ours: { accepted, blocked } }: SentDay,
  theirs: PeopleByEndpoint,
  figures: { deficit: number; tolerated: number },
) => ({
  ...{ organizationId, lineOaId, userId: null },
  kind: 'possible_platform_loss' as const,
  refId: `${lineOaId}:${day}`,
  reasonCode: 'fewer_sent_than_accepted',
  detail: {
    ...{ day, ...figures },
    ...{ pushAccepted: accepted.push, pushBlocked: blocked.push, pushCounted: theirs.push },
    ...{
      multicastAccepted: accepted.multicast,
      multicastBlocked: blocked.multicast,
      multicastCounted: theirs.multicast,
    },
    ...{ broadcastAtLeast: accepted.broadcast, broadcastCounted: theirs.broadcast },
  },
});

/** LINE's counts of that day, or why there are none. */
async function askLine(
  { line, channelAccessToken }: CompareDeps,
  { lineOaId, day }: SentDay,
): Promise<PeopleByEndpoint | string> {
  let token: string;
  try {
    token = await channelAccessToken(lineOaId);
  } catch (error) {
    return errorText(error);
  }
  const ask = (endpoint: CountedEndpoint): Promise<SentCount> =>
    line.sentOn({ channelAccessToken: token, endpoint, day });
  const [push, multicast, broadcast] = await Promise.all([ask('push'), ask('multicast'), ask('broadcast')]);
  if (push.kind === 'ready' && multicast.kind === 'ready' && broadcast.kind === 'ready')
    return { push: push.count, multicast: multicast.count, broadcast: broadcast.count };
  return [push, multicast, broadcast].map((count) => ('detail' in count ? count.detail : count.kind)).join(', ');
}

const sum = ({ push, multicast, broadcast }: PeopleByEndpoint): number => push + multicast + broadcast;
