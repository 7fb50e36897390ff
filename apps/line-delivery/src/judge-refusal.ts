import { createHash } from 'node:crypto';
import type { Db } from '@dueline/db';
import { loadRefusals, type StartedSend } from '@dueline/deliveries';
import type { LineAccountClient, Validation } from '@dueline/line-client';
import { blame, blameContent, type RefusalVerdict } from './blame.ts';
import type { Breaker } from './breaker.ts';
import { peopleOf } from './people-of.ts';

export interface RefusalDeps {
  readonly db: Db;
  readonly line: Pick<LineAccountClient, 'validate'>;
  readonly breaker: Pick<Breaker, 'refused' | 'acceptedSince'>;
}

export interface RefusedAnswer {
  readonly detail: string;
  readonly token: string;
}

const SECOND_MS = 1_000;
/** Validated content is believed so long; a breaker stays open for longer, so what comes after it is validated anew. */
const VALIDATION_TTL_MS = 60_000;
const VALIDATIONS_KEPT = 1_000;
/** After LINE did not say whether it is the content. */
const UNKNOWN_MS = 60_000;
/** So many times of an open breaker a delivery is held at most. */
const LONGEST_OF_OPEN = 6;
/** Content that LINE takes for sure, if it is well. */
const PLAIN: readonly object[] = [{ type: 'text', text: 'ok' }];
/** LINE names who cannot be reached, by place; of a push in words of its own. */
const NAMES_RECIPIENT = /property, '?to(\[\d+\])?'?,|; to(\[\d+\])?:|Failed to send messages/;

/** Whether an answer names who of its recipients is refused. */
export const namesRecipient = (detail: string): boolean => NAMES_RECIPIENT.test(detail);

/**
 * Whose fault a clean 400 is, and what stops sends when it is LINE's. What names a recipient, or what is wrong with the content, is believed.
 * What names nothing counts towards the breaker, which all replicas share, and blames somebody only if it goes on at several times, a minute or
 * more apart, while LINE accepts others of the account (`blame.ts`): an outage fails nobody, however few sends it meets and whatever is being split.
 */
export function createRefusalJudge({ db, line, breaker }: RefusalDeps) {
  const validate = cachedValidation(line);

  const judgeUnexplained = async (
    delivery: StartedSend,
    { validation, token }: { validation: Validation; token: string },
  ): Promise<RefusalVerdict> => {
    const askedAtMs = performance.now(); // how long ago the last refusal is counts from here, however long it takes to note this one
    const { name, earlier } = await loadRefusals(db, delivery);
    const before = earlier.filter(({ detail }) => !namesRecipient(detail));
    if (validation === 'refused') {
      const ofPlain = await line.validate(delivery.endpoint, { channelAccessToken: token, messages: PLAIN });
      if (ofPlain === 'fine') return blameContent(before.length + 1);
    }
    const { openSeconds, others } = await breaker.refused(delivery, name);
    const ownTimes = before.filter(({ isOfWhole }) => !isOfWhole).length + 1;
    // after others that were refused less often: one of them is the next to be sent to see
    if (openSeconds > 0) return { holdMs: openSeconds * SECOND_MS * Math.min(ownTimes, LONGEST_OF_OPEN) };
    if (validation !== 'fine') return { holdMs: UNKNOWN_MS };
    return blame({
      ...{ people: peopleOf(delivery), isPart: delivery.splitPath !== '', others, ownTimes },
      times: before.length + 1,
      accepted: breaker.acceptedSince(delivery.lineOaId, askedAtMs - (before[0]?.secondsAgo ?? 0) * SECOND_MS),
    });
  };

  return {
    async judge(delivery: StartedSend, { detail, token }: RefusedAnswer): Promise<RefusalVerdict> {
      if (namesRecipient(detail)) return { refusedFor: 'recipients' };
      const validation = await validate(delivery, token);
      if (validation === 'bad') return { refusedFor: 'content' };
      const { holdMs, ...verdict } = await judgeUnexplained(delivery, { validation, token });
      return holdMs === undefined ? verdict : { holdMs: spread(holdMs) };
    },
  };
}

/** So long, and up to a tenth more: what was held together does not come back together. */
const spread = (ms: number): number => Math.ceil(ms * (1 + Math.random() / 10));

/** Asks LINE about content once for a while, however many are refused with it, if it tells what it thinks of it. */
function cachedValidation(line: RefusalDeps['line']) {
  const seen = new Map<string, { readonly said: Promise<Validation>; readonly untilMs: number }>();
  return async ({ endpoint, body }: StartedSend, channelAccessToken: string): Promise<Validation> => {
    const { messages }: { messages?: unknown } = JSON.parse(body);
    const key = createHash('sha256')
      .update(`${endpoint} ${JSON.stringify(messages)}`)
      .digest('hex');
    const before = seen.get(key);
    if (before !== undefined && before.untilMs > performance.now()) return before.said;
    const said = line.validate(endpoint, { channelAccessToken, messages });
    if (seen.size >= VALIDATIONS_KEPT) seen.clear();
    seen.set(key, { said, untilMs: performance.now() + VALIDATION_TTL_MS });
    const answer = await said;
    if (answer !== 'fine' && answer !== 'bad') seen.delete(key);
    return answer;
  };
}
