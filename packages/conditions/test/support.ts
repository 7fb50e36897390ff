import { conditionOf, type Evaluation, evaluateConditions, type Facts } from '@dueline/conditions';

export const FIELDS = ['from', 'to', 'answers', 'payload'];
const schema = conditionOf(FIELDS);

export const mapOf = (values: object): Map<string, unknown> => new Map<string, unknown>(Object.entries(values));

/** Noon of 1 December 2026 in Tokyo; 10:00 in Bangkok. */
export const CLOCK: Facts['clock'] = { now: '2026-12-01T03:00:00.123456Z', accountZone: 'Asia/Tokyo', userZone: null };

export const factsOf = (attributes: object, changes: Partial<Facts> = {}): Facts => ({
  attributes: mapOf(attributes),
  event: new Map(),
  audiences: new Map(),
  clock: CLOCK,
  ...changes,
});

/** Evaluates a condition as it is read from JSON. @throws when it is refused. */
export function judge(condition: unknown, facts: Facts): Evaluation {
  return evaluateConditions(schema.parse(condition).when, facts);
}

/** Where a condition is refused and why; undefined: it is not. */
export function problemOf(condition: unknown): { at: string; message: string } | undefined {
  const [issue] = schema.safeParse(condition).error?.issues ?? [];
  return issue && { at: issue.path.map((part) => `/${String(part)}`).join(''), message: issue.message };
}
