import type { Scalar, Tenant } from '@dueline/contracts';
import { given, type Rows, rowsGiven, rowsOf, sql, statement, type Tx } from '@dueline/db';

/** What led to a change: the events that it makes stand one deeper below the same root. */
export interface Cause {
  readonly eventId: string;
  readonly rootId: string;
  readonly depth: number;
}

/** One attribute of one person, and the value it shall have; null removes it. */
export interface AttributeToSet extends Tenant {
  readonly userId: string;
  readonly key: string;
  readonly value: Scalar | null;
  /** null: nothing that happened led to it. */
  readonly cause: Cause | null;
}

/** All changes of one person. */
interface Patch {
  readonly lineOaId: string;
  readonly userId: string;
  readonly values: Map<string, Scalar>;
  readonly removed: Set<string>;
  cause: Cause | null;
}

/**
 * Sets attributes, in the caller's transaction: of several changes of one attribute the last counts, and each person whose
 * attributes differ afterwards makes one event, which names the deepest of its causes. Who does not exist is left out.
 */
export async function setAttributes(tx: Tx, changes: readonly AttributeToSet[]): Promise<void> {
  if (changes.length === 0) return;
  const patches = patchesOf(changes);
  await tellCauses(tx, { causes: JSON.stringify(causesOf(patches)) });
  await applyPatches(tx, { patches: rowsOf(patches, toRow) });
}

function patchesOf(changes: readonly AttributeToSet[]): Patch[] {
  const patches = new Map<string, Patch>();
  for (const { lineOaId, userId, key, value, cause } of changes) {
    const name = `${lineOaId}:${userId}`;
    const patch = patches.get(name) ?? { lineOaId, userId, values: new Map(), removed: new Set(), cause: null };
    patches.set(name, patch);
    if (value === null) {
      patch.values.delete(key);
      patch.removed.add(key);
    } else {
      patch.values.set(key, value);
    }
    if (cause !== null && cause.depth >= (patch.cause?.depth ?? 0)) patch.cause = cause;
  }
  return [...patches.values()];
}

/** By account and person, as the trigger of line_user reads them. */
const causesOf = (patches: readonly Patch[]) =>
  Object.fromEntries(
    patches.flatMap(({ lineOaId, userId, cause }) =>
      cause === null
        ? []
        : [[`${lineOaId}:${userId}`, { cause: cause.eventId, root: cause.rootId, depth: cause.depth + 1 }]],
    ),
  );

const toRow = ({ lineOaId, userId, values, removed }: Patch) => ({
  line_oa_id: lineOaId,
  user_id: userId,
  assigned: Object.fromEntries(values),
  removed: [...removed],
});

const tellCauses = statement<never, { causes: string }>(sql`select set_config('app.causes', ${given('causes')}, true)`);

/** Removed keys first: a key that was removed and set again has the value it was set to. */
const applyPatches = statement<never, { patches: Rows }>(sql`
  with patch as materialized (
    select * from ${rowsGiven('patches')} as patch (line_oa_id bigint, user_id text, assigned jsonb, removed text[])
  ), held as materialized (
    select line_user.line_oa_id, line_user.user_id, patch.assigned, patch.removed
      from line_user join patch on line_user.line_oa_id = patch.line_oa_id and line_user.user_id = patch.user_id collate "C"
     order by line_user.line_oa_id, line_user.user_id
       for no key update of line_user
  )
  update line_user
     set attributes = (line_user.attributes - held.removed) || held.assigned
    from held
   where line_user.line_oa_id = held.line_oa_id and line_user.user_id = held.user_id
     and line_user.attributes <> (line_user.attributes - held.removed) || held.assigned`);
