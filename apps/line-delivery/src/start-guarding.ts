import { BREAKER_LIMITS, getChannelCredentials, type PauseReason } from '@dueline/accounts';
import { createLineAccountClient } from '@dueline/line-client';
import { every } from '@dueline/runtime';
import type { Worker } from '@dueline/worker-app';
import { createBreaker } from './breaker.ts';
import type { Config } from './config.ts';
import { createRefusalJudge } from './judge-refusal.ts';
import { createThrottleJudge } from './judge-throttle.ts';
import { lookAtPaused } from './look-at-paused.ts';
import { createPauses } from './pauses.ts';
import { createGuard, type Guard } from './send-guard.ts';
import { createTokens, type Tokens } from './tokens.ts';

/** How many looks for paused accounts fall into the time between two looks at one. */
const LOOKS_PER_TURN = 4;

/** What stops an account's sends and starts them again, with its tokens, its metrics and the look at paused accounts. */
export function startGuarding(
  worker: Worker,
  config: Config,
  { settleSeconds }: { settleSeconds: number },
): { guard: Guard; tokens: Tokens } {
  const { db, log, metrics, onStop } = worker;
  const line = createLineAccountClient({ baseUrl: config.LINE_API_URL });
  onStop('questions to LINE', () => line.close());
  const counted = countersOf(worker);
  const tokens = createTokens({
    line,
    load: (lineOaId) => getChannelCredentials(db, { lineOaId, secretsKey: config.SECRETS_KEY }),
  });
  const pauses = createPauses({ db, log, onPaused: counted.paused, onUnpaused: counted.unpaused });
  const limits = { ...BREAKER_LIMITS, openSeconds: config.BREAKER_OPEN_SECONDS };
  const breaker = createBreaker({ db, log, limits, settleSeconds, onOpened: counted.opened });
  const refusals = createRefusalJudge({ db, line, breaker });
  const throttles = createThrottleJudge({ db, line, pauses });

  const everySeconds = config.PAUSED_LOOK_SECONDS;
  const looking = every({
    name: 'paused accounts',
    log,
    metrics,
    intervalMs: (everySeconds * 1_000) / LOOKS_PER_TURN,
    jitter: 0.2,
    run: lookAtPaused({ db, line, tokens, pauses, everySeconds }),
  });
  onStop('paused accounts', () => looking.stop());
  return { guard: createGuard({ log, tokens, pauses, throttles, breaker, refusals }), tokens };
}

/** Why an account may be paused without a person's doing. */
const PAUSE_REASONS = [
  'token_refused',
  'forbidden',
  'monthly_limit',
  'held_back',
] as const satisfies readonly PauseReason[];

function countersOf({ metrics }: Worker) {
  const paused = metrics.counter({
    name: 'dueline_account_pauses_total',
    help: 'Accounts that were paused, by why.',
    labels: ['reason'],
    from0: { reason: PAUSE_REASONS },
  });
  const unpaused = metrics.counter({
    name: 'dueline_account_unpauses_total',
    help: 'Pauses that ended by themselves, by why the account was paused.',
    labels: ['reason'],
    from0: { reason: ['token_refused', 'monthly_limit', 'held_back'] },
  });
  const opened = metrics.counter({
    name: 'dueline_breaker_opened_total',
    help: 'Breakers that this process opened or found open: LINE refused what it found nothing wrong with.',
  });
  return {
    paused: (reason: string) => paused.inc({ reason }),
    unpaused: (reason: string) => unpaused.inc({ reason }),
    opened: () => opened.inc(),
  };
}
