import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { effect, type Phase, phasesOf } from './effects.ts';

/** Which requests; everything that is given must hold. 0, '' and [] do not restrict. */
const match = z.strictObject({
  /** Short name of an operation (`push`, `multicast`, `quota`, ...). */
  endpoint: z.string().min(1).default('*'),
  channel: z.string().min(1).default('*'),
  /** Ordinals, from 1, of the requests that hold everything but nth, everyNth and probability. */
  nth: z.array(z.int().min(1)).default([]),
  everyNth: z.int().min(0).default(0),
  probability: z.number().min(0).max(1).default(0),
  /** Ordinal of the attempt with its retry key; 1 is the first. */
  keyAttempt: z.array(z.int().min(1)).default([]),
  bodyContains: z.string().default(''),
  /** A span since the rules were set, by LINE's clock. */
  afterMs: z.number().min(0).default(0),
  untilMs: z.number().min(0).default(0),
});

const rule = z.strictObject({
  id: z.string().min(1).max(64),
  match: match.prefault({}),
  /** So many times at most; 0 for ever. A burst counts once. */
  max: z.int().min(0).default(0),
  phase: z.enum(['beforeAuth', 'beforeAccept', 'afterAccept']).optional(),
  effect,
  /** Once the rule has begun, the next so many requests of its endpoint and channel meet it too, or all in so many ms. */
  burst: z
    .strictObject({ count: z.int().min(1).optional(), ms: z.int().min(1).optional() })
    .refine(({ count, ms }) => (count === undefined) !== (ms === undefined), 'either count or ms')
    .optional(),
});

const ruleList = z.strictObject({ seed: z.int().default(1), rules: z.array(z.unknown()) });

/** Rules as a caller writes them; only id and effect have no default. */
export interface FaultRules {
  /** Decides what `probability` and distributions draw; 1 unless given. */
  readonly seed?: number;
  readonly rules: readonly FaultRule[];
}
export type FaultRule = z.input<typeof rule>;
export type Rule = Omit<z.output<typeof rule>, 'phase'> & { readonly phase: Phase };

/**
 * Checks a list of rules.
 *
 * @throws PermanentError that names the rule and the field.
 */
export function parseRules(given: unknown, isEndpoint: (name: string) => boolean): { seed: number; rules: Rule[] } {
  const list = ruleList.safeParse(given);
  if (!list.success) throw refusal('the rules', list.error);
  const ids = new Set<string>();
  const rules = list.data.rules.map((one, index) => {
    const parsed = rule.safeParse(one);
    if (!parsed.success) throw refusal(nameOf(one, index), parsed.error);
    const { id, phase, match: wanted } = parsed.data;
    if (ids.has(id)) throw new PermanentError(`rule ${id}: id: given twice`);
    ids.add(id);
    if (wanted.endpoint !== '*' && !isEndpoint(wanted.endpoint)) {
      throw new PermanentError(`rule ${id}: match.endpoint: no such operation: ${wanted.endpoint}`);
    }
    return { ...parsed.data, phase: phaseOf(id, phase, phasesOf(parsed.data.effect)) };
  });
  return { seed: list.data.seed, rules };
}

function phaseOf(id: string, given: Phase | undefined, allowed: readonly Phase[]): Phase {
  const [natural] = allowed;
  if (natural === undefined) throw new Error('an effect without a phase');
  if (given === undefined || allowed.includes(given)) return given ?? natural;
  throw new PermanentError(`rule ${id}: phase: this effect is ${allowed.join(' or ')}`);
}

function refusal(subject: string, error: z.ZodError): PermanentError {
  const [issue] = error.issues;
  const field = issue?.path.join('.') || (issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : 'the whole');
  return new PermanentError(`${subject}: ${field}: ${issue?.message ?? 'invalid'}`);
}

function nameOf(given: unknown, index: number): string {
  const id = typeof given === 'object' && given !== null && 'id' in given ? given.id : undefined;
  return `rule ${typeof id === 'string' && id !== '' ? id : index + 1}`;
}
