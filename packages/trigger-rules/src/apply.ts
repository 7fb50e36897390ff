import { createHash } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { type CheckSource, insertRule, missingReference, type RuleDocument, readRule, within } from './author.ts';
import { DOCUMENT } from './rule.ts';

/** What applying one document would do, or did. */
export interface RuleChange {
  readonly name: string;
  readonly kind: 'create' | 'update' | 'none';
  /** Null: the rule is not made yet. */
  readonly ruleId: string | null;
  readonly fields: readonly FieldChange[];
}

/** `from` is undefined for a field of a new rule. */
export interface FieldChange {
  readonly pointer: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

export interface Applied {
  readonly changes: readonly RuleChange[];
  /** Stands for exactly these changes. */
  readonly token: string;
  readonly isApplied: boolean;
}

/** A document to apply, and where it comes from: named in what is said of it. */
export interface RuleSource {
  readonly where: string;
  readonly document: unknown;
}

interface ToApply {
  readonly sources: readonly RuleSource[];
  readonly confirm?: string | undefined;
  readonly checkSource?: CheckSource | undefined;
}

/**
 * Makes the rules of an account be what these documents say, told apart by their names; rules that no document names stay as they
 * are. A document that says no `mode` or no `enabled` leaves that of a rule that there is; a new one is a draft. What already is so
 * is not written: to apply twice changes nothing. All or nothing, in one transaction; two calls for one account take turns.
 *
 * @param how.confirm Changes only when this is the token of the changes, as a call without it told; 'any': whatever they are; left out:
 * nothing is changed.
 * @param how.checkSource What else to ask about the source of each rule; nothing unless given.
 * @throws PermanentError that names the document and the field (as a JSON pointer) of everything that is wrong, or says that the token is of
 * other changes.
 */
export function applyRules(on: Db | Tx, tenant: Tenant, { sources, confirm, checkSource }: ToApply): Promise<Applied> {
  return within(on, tenant, async (tx) => {
    checkNames(sources);
    await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`rules of ${tenant.lineOaId}`}, 0))`);
    const existing = await readExisting(tx);
    const planned = await planAll(tx, { sources, checkSource }, existing);
    const changes = planned.map(({ change }) => change);
    const token = tokenOf(changes);
    if (confirm === undefined) return { changes, token, isApplied: false };
    if (confirm !== 'any' && confirm !== token)
      throw new PermanentError('what would change is not what the token stands for: look at it once more');
    const applied: RuleChange[] = [];
    for (const { change, rule } of planned) applied.push(await applyOne(tx, tenant, { change, rule }));
    return { changes: applied, token, isApplied: true };
  });
}

interface Planned {
  readonly change: RuleChange;
  readonly rule: RuleDocument;
}

interface Existing {
  readonly id: string;
  readonly document: RuleDocument;
}

function checkNames(sources: readonly RuleSource[]): void {
  const seen = new Map<string, string>();
  const problems = sources.flatMap(({ where, document }) => {
    const name = fieldOf(document, 'name');
    if (typeof name !== 'string') return [];
    const before = seen.get(name);
    seen.set(name, where);
    return before === undefined ? [] : [`${where}: /name: ${before} has a rule of this name too`];
  });
  if (problems.length > 0) throw new PermanentError(problems.join('\n'));
}

const fieldOf = (document: unknown, field: string): unknown =>
  typeof document === 'object' && document !== null && Object.hasOwn(document, field)
    ? Object.entries(document).find(([name]) => name === field)?.[1]
    : undefined;

async function planAll(
  tx: Tx,
  { sources, checkSource }: ToApply,
  existing: ReadonlyMap<string, readonly Existing[]>,
): Promise<Planned[]> {
  const planned: Planned[] = [];
  const problems: string[] = [];
  for (const { where, document } of sources) {
    const name = fieldOf(document, 'name');
    const found = typeof name === 'string' ? (existing.get(name) ?? []) : [];
    const plan = await planOne(tx, { document, checkSource }, found);
    if ('problem' in plan) problems.push(`${where}: ${plan.problem}`);
    else planned.push(plan);
  }
  if (problems.length > 0) throw new PermanentError(problems.join('\n'));
  return planned;
}

async function planOne(
  tx: Tx,
  { document, checkSource }: { document: unknown; checkSource: CheckSource | undefined },
  [before, ...others]: readonly Existing[],
): Promise<Planned | { problem: string }> {
  if (others.length > 0) return { problem: '/name: the account has several rules of this name' };
  const isObject = typeof document === 'object' && document !== null && !Array.isArray(document);
  const kept =
    before === undefined ? { mode: 'draft' } : { mode: before.document.mode, enabled: before.document.enabled };
  const read = readRule(isObject ? { ...kept, ...document } : document, { root: '', checkSource });
  if ('problem' in read) return read;
  const fields = diff(before?.document, read.rule);
  // what was there when it was written and is gone now is told when something changes only: else nothing could be applied any more
  const missing = fields.length === 0 ? undefined : await missingReference(tx, read.rule, '');
  if (missing !== undefined) return { problem: missing };
  const kind = before === undefined ? 'create' : fields.length === 0 ? 'none' : 'update';
  return { rule: read.rule, change: { name: read.rule.name, kind, ruleId: before?.id ?? null, fields } };
}

async function readExisting(tx: Tx): Promise<Map<string, Existing[]>> {
  const { rows } = await tx.execute<{ id: string; name: string; document: RuleDocument }>(sql`
    select id, name, ${DOCUMENT} as document from trigger_rule as rule where deleted_date is null order by id`);
  return Map.groupBy(
    rows.map(({ id, document }) => ({ id, document })),
    ({ document }) => document.name,
  );
}

async function applyOne(tx: Tx, tenant: Tenant, { change, rule }: Planned): Promise<RuleChange> {
  if (change.kind === 'none') return change;
  if (change.ruleId === null) return { ...change, ruleId: await insertRule(tx, tenant, rule) };
  await tx.execute(sql`
    update trigger_rule
       set source_type = ${rule.sourceType}, source_config = ${JSON.stringify(rule.sourceConfig)}, action_type = ${rule.actionType},
           action_config = ${JSON.stringify(rule.actionConfig)}, enabled = ${rule.enabled}, when_disabled = ${rule.whenDisabled},
           frequency = ${rule.frequency}, cooldown_seconds = ${rule.cooldownSeconds}, reentry = ${rule.reentry}, mode = ${rule.mode},
           exempt_from_caps = ${rule.exemptFromCaps}, full_history = ${rule.fullHistory}, updated_date = app_now()
     where id = ${change.ruleId} and deleted_date is null`);
  return change;
}

const isBranch = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Where two values differ, the smallest parts that do. Pure. */
function diff(from: unknown, to: unknown, pointer = ''): FieldChange[] {
  if (Object.is(from, to)) return [];
  if (!isBranch(from) || !isBranch(to) || Array.isArray(from) !== Array.isArray(to)) {
    if (from === undefined && isBranch(to) && pointer === '') return diff({}, to);
    return [{ pointer, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
  }
  const [before, after] = [new Map(Object.entries(from)), new Map(Object.entries(to))];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((key) =>
    diff(before.get(key), after.get(key), `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
}

/** Keys in any order stand for the same changes, because PostgreSQL keeps none. */
const tokenOf = (changes: readonly RuleChange[]): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(changes)))
    .digest('hex')
    .slice(0, 12);

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isBranch(value)) return value;
  return Object.entries(value)
    .filter(([, of]) => of !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, of]) => [key, sorted(of)]);
};
