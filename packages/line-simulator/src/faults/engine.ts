import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Exchange } from '../api/exchange.ts';
import type { Clock } from '../clock.ts';
import type { Effect, Phase } from './effects.ts';
import { type FaultRules, parseRules, type Rule } from './rules.ts';

/** A rule with what came of it. */
export interface FaultHits extends Rule {
  /** Requests that held everything but nth, everyNth and probability. */
  readonly seen: number;
  /** Requests that met the fault. */
  readonly hits: number;
}

/** The faults of a simulator, in its own process. */
export interface Faults {
  /** Replaces all rules; counts, draws and spans begin anew. @throws PermanentError that names rule and field. */
  set(rules: FaultRules): void;
  /** From here on nothing goes wrong any more; a token that was revoked is good again. */
  clear(): void;
  hits(): { readonly seed: number; readonly rules: readonly FaultHits[] };
}

/** A fault that a request is about to meet. */
export interface Fault {
  readonly id: string;
  readonly phase: Phase;
  readonly effect: Effect;
  /** From 0 up to 1; the same for the same seed, rule and ordinal. */
  readonly draw: number;
  /** The request met it. Until then nothing is counted, so that a request that is refused before does not use it up. */
  meet(): void;
}

export interface FaultEngine extends Faults {
  /**
   * The first rule that the request falls under.
   *
   * @param isRefused What comes before the retry key has refused it.
   */
  decide(exchange: Exchange, isRefused: boolean, socket: Socket): Fault | undefined;
}

interface RuleState {
  readonly rule: Rule;
  seen: number;
  hits: number;
  begun: number;
  burst: { left: number; until: number } | undefined;
}

/** What only a send can suffer. */
const SENDS_ONLY: ReadonlySet<Effect['type']> = new Set([
  'lateAccept',
  'monthlyLimit',
  'reservation',
  'withoutDelivery',
  'forgetKey',
]);

interface Deps {
  readonly clock: Clock;
  isEndpoint(name: string): boolean;
}

export function createFaultEngine({ clock, isEndpoint }: Deps): FaultEngine {
  let seed = 1;
  let since = 0;
  let states: RuleState[] = [];
  /** By token, the rule that revoked it. */
  let revoked = new Map<string, RuleState>();
  const begin = (given: unknown) => {
    const parsed = parseRules(given, isEndpoint);
    seed = parsed.seed;
    since = clock.now();
    revoked = new Map();
    states = parsed.rules.map((rule) => ({ rule, seen: 0, hits: 0, begun: 0, burst: undefined }));
  };
  const fault = (state: RuleState, exchange: Exchange): Fault => ({
    id: state.rule.id,
    phase: state.rule.phase,
    effect: state.rule.effect,
    draw: drawOf(`${seed}/${state.rule.id}/size`, state.hits + 1),
    meet() {
      meet(state, exchange.at);
      if (state.rule.effect.type === 'revokeToken' && exchange.token !== undefined) revoked.set(exchange.token, state);
    },
  });
  return {
    set: begin,
    clear: () => begin({ rules: [] }),
    hits: () => ({ seed, rules: states.map(({ rule, seen, hits }) => ({ ...rule, seen, hits })) }),
    decide(exchange, isRefused, socket) {
      if (states.length === 0) return undefined;
      const revoker = revoked.get(exchange.token ?? '');
      if (revoker !== undefined) return fault(revoker, exchange);
      const age = exchange.at - since;
      for (const state of states) {
        if (!isInScope(state.rule, exchange, age)) continue;
        if (state.rule.phase === 'beforeAccept' && isRefused) continue;
        if (!isPossible(state.rule.effect, exchange, socket)) continue;
        if (isInBurst(state, exchange.at) || isChosen(state, exchange, seed)) return fault(state, exchange);
      }
      return undefined;
    },
  };
}

function isInScope({ match }: Rule, { endpoint, channel }: Exchange, age: number): boolean {
  if (match.endpoint !== '*' && match.endpoint !== endpoint.key) return false;
  if (match.channel !== '*' && match.channel !== channel?.settings.channelId) return false;
  return age >= match.afterMs && (match.untilMs === 0 || age < match.untilMs);
}

/** Whether there is anything for the effect to spoil. */
function isPossible(effect: Effect, exchange: Exchange, socket: Socket): boolean {
  if (SENDS_ONLY.has(effect.type) && !exchange.endpoint.isSend) return false;
  if (effect.type === 'closeIdle') return socket.bytesWritten > 0;
  if (effect.type === 'poison') return poisonProperty(exchange, effect.users) !== undefined;
  if (effect.type === 'revokeToken') return exchange.channel !== undefined;
  return effect.type !== 'forgetKey' || (exchange.keyUse !== undefined && exchange.keyUse.accept > 0);
}

function isInBurst(state: RuleState, at: number): boolean {
  return state.burst !== undefined && state.burst.left > 0 && at < state.burst.until;
}

/** Whether it begins here. Counts the request as seen. */
function isChosen(state: RuleState, exchange: Exchange, seed: number): boolean {
  const { rule } = state;
  const { match, max } = rule;
  if (match.keyAttempt.length > 0 && !match.keyAttempt.includes(exchange.keyUse?.attempts ?? 0)) return false;
  if (match.bodyContains !== '' && !bodyContains(exchange, match.bodyContains)) return false;
  if (max > 0 && state.begun >= max) return false;
  state.seen += 1;
  if (match.nth.length > 0 && !match.nth.includes(state.seen)) return false;
  if (match.everyNth > 0 && state.seen % match.everyNth !== 0) return false;
  return match.probability === 0 || drawOf(`${seed}/${rule.id}`, state.seen) < match.probability;
}

function meet(state: RuleState, at: number): void {
  const { burst } = state.rule;
  state.hits += 1;
  if (isInBurst(state, at) && state.burst !== undefined) {
    state.burst.left -= 1;
    return;
  }
  state.begun += 1;
  if (burst !== undefined) {
    state.burst = { left: burst.count === undefined ? Infinity : burst.count - 1, until: at + (burst.ms ?? Infinity) };
  }
}

/** A pure function, so that no rule's draws depend on how often another one drew. */
function drawOf(stream: string, ordinal: number): number {
  return hash('sha256', `${stream}/${ordinal}`, 'buffer').readUInt32BE(0) / 2 ** 32;
}

function bodyContains({ rawBody }: Exchange, text: string): boolean {
  return Buffer.isBuffer(rawBody) && rawBody.includes(text);
}

/** The place in the body of the first of these users that it names. */
export function poisonProperty({ body }: Exchange, users: readonly string[]): string | undefined {
  const to = body?.to;
  if (!Array.isArray(to)) return typeof to === 'string' && users.includes(to) ? 'to' : undefined;
  const index = to.findIndex((user: unknown) => typeof user === 'string' && users.includes(user));
  return index < 0 ? undefined : `to[${index}]`;
}
