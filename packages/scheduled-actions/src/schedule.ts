import type { ActionRequest, AttributeChangedConfig, Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** Work that shall wait. */
export interface ActionToSchedule extends Tenant {
  readonly userId: string;
  readonly request: ActionRequest;
  /** Whole seconds from now (product time); 0 is due at once. */
  readonly delaySeconds: number;
  /** What to re-evaluate when it comes due; null: nothing. */
  readonly sourceConfig: AttributeChangedConfig | null;
  readonly triggerRuleId: string | null;
  readonly ruleVersion: number | null;
  readonly eventId: string | null;
  readonly rootId: string | null;
  /** What the row stands for, unique in the account for ever, e.g. `ev:<event>:<rule>`. */
  readonly dedupKey: string;
  readonly traceparent: string | undefined;
}

/**
 * none -> pending, due `delaySeconds` after the transaction's product time. Runs no clock: any app may call it.
 *
 * A repeat changes nothing. Returns the ids of the rows it made by dedup_key; a key that existed already is left out.
 */
export async function scheduleMany(tx: Tx, actions: readonly ActionToSchedule[]): Promise<ReadonlyMap<string, string>> {
  if (actions.length === 0) return new Map();
  const col = (
    read: (action: ActionToSchedule) => string | number | null,
    type: 'bigint' | 'integer' | 'text' | 'uuid' | 'jsonb',
  ) => column(actions.map(read), type);
  const { rows } = await tx.execute<{ id: string; dedup_key: string }>(sql`
    insert into scheduled_action (organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type,
                                  action_config, source_config, execute_at, due_at, dedup_key, traceparent)
    select organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config,
           source_config, app_now() + make_interval(secs => delay_seconds), app_now() + make_interval(secs => delay_seconds),
           dedup_key, traceparent
      from unnest(
        ${col((action) => action.organizationId, 'bigint')}, ${col((action) => action.lineOaId, 'bigint')},
        ${col((action) => action.triggerRuleId, 'bigint')}, ${col((action) => action.ruleVersion, 'integer')},
        ${col((action) => action.eventId, 'uuid')}, ${col((action) => action.rootId, 'uuid')},
        ${col((action) => action.userId, 'text')}, ${col((action) => action.request.actionType, 'text')},
        ${col((action) => JSON.stringify(action.request.actionConfig), 'jsonb')},
        ${col((action) => (action.sourceConfig === null ? null : JSON.stringify(action.sourceConfig)), 'jsonb')},
        ${col((action) => action.delaySeconds, 'integer')}, ${col((action) => action.dedupKey, 'text')},
        ${col((action) => action.traceparent ?? null, 'text')})
        as action (organization_id, line_oa_id, trigger_rule_id, rule_version, event_id, root_id, user_id, action_type, action_config,
                   source_config, delay_seconds, dedup_key, traceparent)
     order by line_oa_id, dedup_key
        on conflict do nothing
    returning id, dedup_key`);
  return new Map(rows.map((row) => [row.dedup_key, row.id]));
}
