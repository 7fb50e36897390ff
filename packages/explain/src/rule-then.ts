import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { parseRule, type ReadRule, type RuleDocument, type RuleRow } from '@dueline/trigger-rules';
import type { ExplainReason } from './reasons.ts';

/** What an account says about all of its rules, as it says it now. */
export interface Account extends Tenant {
  readonly timezone: string;
  readonly status: string;
  readonly isStopped: boolean;
  readonly quietPolicy: 'shift' | 'drop' | 'ignore' | null;
  readonly caps: readonly { readonly maxMessages: number; readonly windowSeconds: number }[];
}

/** @throws Error when the account is none of this tenant. */
export async function loadAccount(tx: Tx, { organizationId, lineOaId }: Tenant): Promise<Account> {
  type Row = {
    timezone: string;
    status: string;
    stopped: boolean;
    quiet: Account['quietPolicy'];
    caps: Account['caps'];
  };
  const { rows } = await tx.execute<Row>(sql`
    select account.timezone, account.status,
           account.stopped_at is not null or organization.stopped_at is not null as stopped,
           case when account.quiet_from is not null then account.quiet_policy end as quiet,
           (select coalesce(json_agg(json_build_object('maxMessages', max_messages, 'windowSeconds', window_seconds) order by window_seconds), '[]')
              from frequency_cap where line_oa_id = account.id) as caps
      from line_oa as account join organization on organization.id = account.organization_id
     where account.id = ${lineOaId} and account.organization_id = ${organizationId}`);
  const [row] = rows;
  if (row === undefined) throw new Error('the account does not exist');
  const { timezone, status, stopped, quiet, caps } = row;
  return { organizationId, lineOaId, timezone, status, isStopped: stopped, quietPolicy: quiet, caps };
}

/** A rule at one of its versions, from the moment at which it was written. */
export interface RuleVersion {
  readonly version: number;
  readonly since: string;
  readonly sinceMicros: number;
  readonly name: string;
  readonly state: 'live' | 'observe' | 'draft' | 'disabled' | 'deleted';
  readonly read: ReadRule;
}

type Snapshot = Omit<RuleRow, 'id' | 'organization_id' | 'line_oa_id' | 'version' | 'capped' | 'drops' | 'mode'> & {
  readonly name: string;
  readonly mode: RuleVersion['state'];
  readonly enabled: boolean;
  readonly deleted_date: string | null;
  readonly exempt_from_caps: boolean;
};

/** All versions of a rule, the oldest first; empty: the account has no such rule. */
export async function loadVersions(tx: Tx, account: Account, ruleId: string): Promise<RuleVersion[]> {
  const { rows } = await tx.execute<{ version: number; since: string; micros: string; snapshot: Snapshot }>(sql`
    select version, to_char(created_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as since,
           (extract(epoch from created_date) * 1000000)::bigint as micros, snapshot
      from trigger_rule_version
     where trigger_rule_id = ${ruleId} and line_oa_id = ${account.lineOaId} and organization_id = ${account.organizationId}
     order by version`);
  return rows.map(({ version, since, micros, snapshot }) => ({
    ...{ version, since, sinceMicros: Number(micros), name: snapshot.name, state: stateOf(snapshot) },
    read: readSnapshot(account, { ...snapshot, id: ruleId, version }),
  }));
}

function stateOf({ deleted_date, enabled, mode }: Snapshot): RuleVersion['state'] {
  if (deleted_date !== null) return 'deleted';
  return mode === 'draft' || enabled ? mode : 'disabled';
}

/** A draft is read as though it were live, to be judged. */
function readSnapshot(account: Account, snapshot: Snapshot & Pick<RuleRow, 'id' | 'version'>): ReadRule {
  return parseRule({
    ...snapshot,
    ...{ organization_id: account.organizationId, line_oa_id: account.lineOaId },
    reentry: snapshot.reentry ?? 'always',
    mode: snapshot.mode === 'observe' ? 'observe' : 'live',
    capped: !snapshot.exempt_from_caps && account.caps.length > 0,
    drops: account.quietPolicy === 'drop',
  });
}

/** What a person wrote, as a live rule. `id` is that of the rule whose next version it would be; 0: of none. */
export function readDocument(account: Account, document: RuleDocument, id = '0'): ReadRule {
  return parseRule({
    ...{ id, version: 0, organization_id: account.organizationId, line_oa_id: account.lineOaId, mode: 'live' },
    ...{ source_type: document.sourceType, source_config: document.sourceConfig },
    ...{ action_type: document.actionType, action_config: document.actionConfig },
    ...{ frequency: document.frequency, cooldown_seconds: document.cooldownSeconds, reentry: document.reentry },
    full_history: document.fullHistory,
    capped: !document.exemptFromCaps && account.caps.length > 0,
    drops: account.quietPolicy === 'drop',
  });
}

/** The version that held at an instant; undefined: the rule was not made yet. */
export const versionAt = (versions: readonly RuleVersion[], micros: number): RuleVersion | undefined =>
  versions.findLast(({ sinceMicros }) => sinceMicros <= micros);

/** Why a version does nothing, however it is met; undefined: it is looked at. Pure. */
export function stateReason(version: RuleVersion | undefined): ExplainReason | undefined {
  switch (version?.state) {
    case undefined:
      return 'rule_not_yet_made';
    case 'draft':
      return 'rule_was_draft';
    case 'disabled':
      return 'rule_was_disabled';
    case 'deleted':
      return 'rule_was_deleted';
    case 'live':
    case 'observe':
      return undefined;
  }
}
