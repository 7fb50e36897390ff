import type { Ticket } from '@dueline/contracts';
import type { AttemptResult, StartedDelivery, StartedMenu, StartedSend } from '@dueline/deliveries';
import type { LineOutcome, MenuOutcome, ShownMenu } from '@dueline/line-client';
import type { Log } from '@dueline/mq';
import type { Breaker } from './breaker.ts';
import type { createRefusalJudge } from './judge-refusal.ts';
import type { createThrottleJudge } from './judge-throttle.ts';
import type { Pauses } from './pauses.ts';
import { TokenRefusedError, type Tokens } from './tokens.ts';

/** One attempt: what it proved, and either what LINE was asked and said, or why there was no token to ask with. */
interface Attempt<Answer> {
  readonly result: AttemptResult;
  readonly asked?: { readonly answer: Answer; readonly token: string } | undefined;
  readonly tokenError?: unknown;
}

export type SentAttempt = Attempt<LineOutcome>;
export type MenuAttempt = Attempt<MenuOutcome | ShownMenu>;

/** Stands between deliveries and LINE, for the sake of what an answer says of the account and not of the delivery. */
export interface Guard {
  /** Which of the account's deliveries may be started now; the others are announced again later. */
  admit<T extends Ticket>(lineOaId: string, tickets: readonly T[]): Promise<readonly T[]>;
  /** Between answer and verdict: pauses what must be paused, and says how the delivery goes on. Never rejects. */
  judge(send: StartedSend, attempt: SentAttempt): Promise<AttemptResult>;
  /** The same for a question about a person's menu, which tells of the account's token and rights only. Never rejects. */
  judgeMenu(menu: StartedMenu, attempt: MenuAttempt): Promise<AttemptResult>;
}

export interface GuardDeps {
  readonly log: Log;
  readonly tokens: Tokens;
  readonly pauses: Pauses;
  readonly throttles: ReturnType<typeof createThrottleJudge>;
  readonly breaker: Pick<Breaker, 'admit' | 'accepted'>;
  readonly refusals: ReturnType<typeof createRefusalJudge>;
}

/** After an answer that paused the account: a clean delivery waits for the end of the pause. */
const HOLD_MS = 60_000;
/** Between two probes of one in doubt while its account is paused. */
const PROBE_MS = 600_000;
/** When an answer could not be judged. */
const UNJUDGED_MS = 60_000;

const heldFor = ({ verdict }: StartedDelivery): Judgement =>
  verdict === 'clean' ? { holdMs: HOLD_MS } : { holdMs: HOLD_MS, whilePausedMs: PROBE_MS };

export function createGuard(deps: GuardDeps): Guard {
  return {
    admit: (lineOaId, tickets) => deps.breaker.admit(lineOaId, tickets),
    judge: (send, attempt) => judged(deps, { delivery: send, attempt }, () => judgeSend(deps, send, attempt)),
    judgeMenu: (menu, attempt) =>
      judged(deps, { delivery: menu, attempt }, async () => (await accountsFault(deps, menu, attempt)) ?? {}),
  };
}

type Judgement = Pick<AttemptResult, 'holdMs' | 'whilePausedMs' | 'refusedFor' | 'partsWaitMs'>;

async function judged(
  { log }: GuardDeps,
  { delivery, attempt }: { delivery: StartedDelivery; attempt: Attempt<unknown> },
  judge: () => Promise<Judgement>,
): Promise<AttemptResult> {
  try {
    return { ...attempt.result, ...(await judge()) };
  } catch (error) {
    const { id: deliveryId, lineOaId } = delivery;
    log.warn({ deliveryId, lineOaId, err: error }, 'an answer could not be judged; the delivery is held');
    return { ...attempt.result, holdMs: UNJUDGED_MS };
  }
}

/** What an answer says of the account, whatever was asked: of its token, and of its rights. Undefined: nothing. */
async function accountsFault(
  { tokens, pauses }: GuardDeps,
  delivery: StartedDelivery,
  { asked, tokenError }: Attempt<LineOutcome | MenuOutcome | ShownMenu>,
): Promise<Judgement | undefined> {
  const pause = async (reasonCode: 'token_refused' | 'forbidden', reason: string): Promise<Judgement> => {
    await pauses.pause(delivery, { reasonCode, reason });
    return heldFor(delivery);
  };
  if (tokenError instanceof TokenRefusedError) return pause('token_refused', tokenError.message);
  if (asked === undefined) return undefined;
  const { answer, token } = asked;
  if (answer.kind === 'auth') {
    const next = await tokens.rejected(delivery.lineOaId, token);
    return next === 'again' ? {} : pause('token_refused', answer.detail);
  }
  if (answer.kind !== 'not_reached') tokens.worked(delivery.lineOaId, token);
  if (answer.kind === 'refused' && answer.status === 403) return pause('forbidden', answer.detail);
  return undefined;
}

async function judgeSend(deps: GuardDeps, send: StartedSend, attempt: SentAttempt): Promise<Judgement> {
  const fault = await accountsFault(deps, send, attempt);
  if (fault !== undefined || attempt.asked === undefined) return fault ?? {};
  const { answer, token } = attempt.asked;
  switch (answer.kind) {
    case 'throttled':
      return deps.throttles.judge(send, { ...answer, token });
    case 'refused': {
      if (answer.status !== 400 || send.verdict !== 'clean') return {};
      return deps.refusals.judge(send, { detail: answer.detail, token });
    }
    case 'accepted':
    case 'already':
      await deps.throttles.accepted(send);
      await deps.breaker.accepted(send, answer);
      return {};
    case 'auth':
    case 'ambiguous':
    case 'not_reached':
      return {};
  }
}
