import { sql, type Tx } from '@dueline/db';
import type { TriggerRule } from '@dueline/trigger-rules';
import type { Account } from './rule-then.ts';

/** What the action of a rule names, and when that was deleted. */
export interface Target {
  readonly reasonCode: 'audience_deleted' | 'rich_menu_deleted';
  /** Microseconds; infinite: it is there. */
  readonly goneMicros: number;
}

/** Undefined: the action names nothing. What never was there was always gone. */
export async function loadTarget(tx: Tx, account: Account, { actionConfig }: TriggerRule): Promise<Target | undefined> {
  const { lineOaId, organizationId } = account;
  const ofAccount = sql`line_oa_id = ${lineOaId} and organization_id = ${organizationId}`;
  if ('audienceId' in actionConfig)
    return goneBy(tx, 'audience_deleted', sql`audience where id = ${actionConfig.audienceId} and ${ofAccount}`);
  if ('richMenuId' in actionConfig)
    return goneBy(tx, 'rich_menu_deleted', sql`rich_menu where id = ${actionConfig.richMenuId} and ${ofAccount}`);
  return undefined;
}

async function goneBy(tx: Tx, reasonCode: Target['reasonCode'], from: ReturnType<typeof sql>): Promise<Target> {
  const { rows } = await tx.execute<{ gone: string | null }>(
    sql`select (extract(epoch from deleted_date) * 1000000)::bigint as gone from ${from}`,
  );
  const [row] = rows;
  return {
    reasonCode,
    goneMicros: row === undefined ? 0 : row.gone === null ? Number.POSITIVE_INFINITY : Number(row.gone),
  };
}

/** Why an action that is to happen at an instant cannot: what it names is gone. Pure. */
export const targetIsGone = (target: Target | undefined, micros: number): Target['reasonCode'] | undefined =>
  target !== undefined && target.goneMicros <= micros ? target.reasonCode : undefined;
