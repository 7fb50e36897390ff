import type { Ticket } from '@dueline/contracts';
import type { AttemptResult, StartedSend } from '@dueline/deliveries';
import type { LineOutcome } from '@dueline/line-client';
import type { Log } from '@dueline/mq';
import type { createRefusalJudge } from './judge-refusal.ts';
import type { createThrottleJudge } from './judge-throttle.ts';
import type { Pauses } from './pauses.ts';
import { TokenRefusedError, type Tokens } from './tokens.ts';

/** One attempt: what it proved, and either what LINE was asked and said, or why there was no token to ask with. */
export interface SentAttempt {
  readonly result: AttemptResult;
  readonly asked?: { readonly answer: LineOutcome; readonly token: string } | undefined;
  readonly tokenError?: unknown;
}

/** Stands between deliveries and LINE, for the sake of what an answer says of the account and not of the delivery. */
export interface Guard {
  /** Which of the account's deliveries may be started now; the others are announced again later. */
  admit<T extends Ticket>(lineOaId: string, tickets: readonly T[]): Promise<readonly T[]>;
  /** Between answer and verdict: pauses what must be paused, and says how the delivery goes on. Never rejects. */
  judge(delivery: StartedSend, attempt: SentAttempt): Promise<AttemptResult>;
}

export interface GuardDeps {
  readonly log: Log;
  readonly tokens: Tokens;
  readonly pauses: Pauses;
  readonly throttles: ReturnType<typeof createThrottleJudge>;
  readonly refusals: ReturnType<typeof createRefusalJudge>;
}

/** A clean delivery of an account that was paused meanwhile: it waits for the end of the pause. */
const CLEAN_HOLD_MS = 60_000;
/** Between two probes of one in doubt, of which only acceptance tells anything. */
const PROBE_MS = 600_000;
/** When an answer could not be judged. */
const UNJUDGED_MS = 60_000;

const heldMs = ({ verdict }: StartedSend): number => (verdict === 'clean' ? CLEAN_HOLD_MS : PROBE_MS);

export function createGuard(deps: GuardDeps): Guard {
  return {
    admit: (lineOaId, tickets) => deps.refusals.admit(lineOaId, tickets),
    async judge(delivery, attempt) {
      try {
        return { ...attempt.result, ...(await judgeAttempt(deps, delivery, attempt)) };
      } catch (error) {
        const { id: deliveryId, lineOaId } = delivery;
        deps.log.warn({ deliveryId, lineOaId, err: error }, 'an answer could not be judged; the delivery is held');
        return { ...attempt.result, holdMs: UNJUDGED_MS };
      }
    },
  };
}

type Judgement = Pick<AttemptResult, 'holdMs' | 'refusedFor'>;

async function judgeAttempt(
  deps: GuardDeps,
  delivery: StartedSend,
  { asked, tokenError }: SentAttempt,
): Promise<Judgement> {
  if (tokenError instanceof TokenRefusedError) return withoutToken(deps, delivery, tokenError.message);
  if (asked === undefined) return {};
  const { answer, token } = asked;
  if (answer.kind !== 'auth' && answer.kind !== 'not_reached') deps.tokens.worked(delivery.lineOaId, token);
  switch (answer.kind) {
    case 'auth': {
      const next = await deps.tokens.rejected(delivery.lineOaId, token);
      return next === 'again' ? {} : withoutToken(deps, delivery, answer.detail);
    }
    case 'throttled': {
      const holdMs = await deps.throttles.judge(delivery, { ...answer, token });
      return holdMs === undefined ? {} : { holdMs };
    }
    case 'refused':
      return refused(deps, delivery, { status: answer.status, detail: answer.detail, token });
    case 'accepted':
    case 'already':
      await deps.throttles.accepted(delivery);
      await deps.refusals.accepted(delivery);
      return {};
    case 'ambiguous':
    case 'not_reached':
      return {};
  }
}

async function withoutToken({ pauses }: GuardDeps, delivery: StartedSend, reason: string): Promise<Judgement> {
  await pauses.pause(delivery, { reasonCode: 'token_refused', reason });
  return { holdMs: heldMs(delivery) };
}

async function refused(
  { pauses, refusals }: GuardDeps,
  delivery: StartedSend,
  { status, detail, token }: { status: number; detail: string; token: string },
): Promise<Judgement> {
  if (status === 403) {
    await pauses.pause(delivery, { reasonCode: 'forbidden', reason: detail });
    return { holdMs: heldMs(delivery) };
  }
  if (status !== 400 || delivery.verdict !== 'clean') return {};
  const verdict = await refusals.judge(delivery, { detail, token });
  return typeof verdict === 'string' ? { refusedFor: verdict } : verdict;
}
