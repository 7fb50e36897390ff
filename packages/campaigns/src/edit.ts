import { bigintId, type Tenant, type Ticket } from '@dueline/contracts';
import { column, errorCode, type SQL, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { type Confirmed, instant } from './author.ts';
import { type ControlOutcome, type HeldCampaign, holdCampaign, isRefused, moveCampaign } from './control.ts';
import {
  common,
  type DefinitionColumns,
  definitionSha256,
  definitionSha256With,
  exclude,
  parse,
  refuseUnknownAudiences,
  unique,
} from './definition.ts';
import { confirmPreview } from './preview.ts';

const times = {
  /** RFC 3339. */
  startDate: instant.optional(),
  /** RFC 3339; null: none. */
  notAfter: instant.nullable().optional(),
};
const campaignEdit = z.strictObject({
  name: common.name.optional(),
  messages: common.messages.optional(),
  audienceId: bigintId.optional(),
  /** In place of those who were left out before. */
  exclude: exclude.optional(),
  ...times,
});
const campaignReschedule = z.strictObject({ ...times, startDate: instant });

/** What a person changes of a campaign; what is not given stays. */
export type CampaignEdit = z.input<typeof campaignEdit>;
/** Another start, and what it must not become; what is not given stays. */
export type CampaignReschedule = z.input<typeof campaignReschedule>;

/**
 * Changes what a campaign says, to whom or when, as long as nobody is written down; a ticket in a queue is stale. When it says something else
 * or is for others than before, nobody has confirmed that: it is a draft again, and its next start needs a preview. Else its status stays.
 *
 * @throws PermanentError whose message names the first wrong field, or says that the audience is not one of this account.
 */
export async function editCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, ...edit }: CampaignEdit & { campaign: Ticket },
): Promise<ControlOutcome> {
  const wanted = parse('edit', campaignEdit, edit);
  const from = ['draft', 'scheduled', 'paused', 'needs_attention'] as const;
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from, frozen: false } });
  if (isRefused(held)) return held;
  await refuseUnknownAudiences(tx, wanted.exclude?.audienceIds ?? [], 'edit');
  const isAnother = await changesDefinition(tx, held.id, definitionOf(wanted));
  return change(tx, held, isAnother ? { to: 'draft', ...NOT_CONFIRMED, ...wanted } : { to: held.status, ...wanted });
}

const NOT_CONFIRMED = { reasonCode: null, confirmedCount: null, startCheck: null } as const;

function definitionOf({ messages, audienceId, exclude: left }: z.output<typeof campaignEdit>): DefinitionColumns {
  return {
    messages: messages && sql`${JSON.stringify(messages)}::jsonb`,
    audience_id: audienceId === undefined ? undefined : sql`${audienceId}::bigint`,
    excluded_audience_ids: left && column(unique(left.audienceIds), 'bigint'),
    excluded_user_ids: left && column(unique(left.userIds), 'text'),
  };
}

async function changesDefinition(tx: Tx, id: string, columns: DefinitionColumns): Promise<boolean> {
  const { rows } = await tx.execute<{ is_another: boolean }>(sql`
    select ${definitionSha256With(columns)} <> ${definitionSha256} as is_another from campaign where id = ${id}`);
  return rows[0]?.is_another === true;
}

/**
 * scheduled, paused or needs_attention -> scheduled for another time, as long as nobody is written down. What was frozen is resumed or retried
 * instead: it goes on where it was.
 *
 * @throws PermanentError whose message names the first wrong field.
 */
export async function rescheduleCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, ...edit }: CampaignReschedule & { campaign: Ticket },
): Promise<ControlOutcome> {
  const wanted = parse('schedule', campaignReschedule, edit);
  const from = ['scheduled', 'paused', 'needs_attention'] as const;
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from, frozen: false } });
  return isRefused(held) ? held : change(tx, held, { to: 'scheduled', reasonCode: null, ...wanted });
}

/**
 * needs_attention -> scheduled, at the start that it had, for a campaign that was held before its start: with the token of a preview that shows how many
 * people they are now.
 *
 * @param tx As the tenant (`inTenant`).
 * @throws PermanentError as {@link confirmPreview}: whoever confirms has seen to whom.
 */
export async function confirmCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, token, by }: Confirmed & { campaign: Ticket },
): Promise<ControlOutcome> {
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from: ['needs_attention'], frozen: false } });
  if (isRefused(held)) return held;
  if (held.isTooLate) return { result: 'refused', refusal: 'too_late', status: held.status };
  const confirmed = await confirmPreview(tx, { campaign, token, by });
  if (confirmed === undefined) return { result: 'refused', refusal: 'changed', status: held.status };
  return change(tx, held, { to: 'scheduled', reasonCode: null, confirmedCount: confirmed.people });
}

/** scheduled -> draft, as long as nobody is written down: it does not start until it is scheduled again. */
export async function unscheduleCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign }: { campaign: Ticket },
): Promise<ControlOutcome> {
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from: ['scheduled'], frozen: false } });
  return isRefused(held) ? held : moveCampaign(tx, held, { to: 'draft' });
}

type Change = z.output<typeof campaignEdit> & {
  to: HeldCampaign['status'];
  reasonCode?: null;
  startCheck?: null;
  confirmedCount?: number | null;
};

async function change(tx: Tx, held: HeldCampaign, { to, ...wanted }: Change): Promise<ControlOutcome> {
  const columns = {
    name: wanted.name,
    ...definitionOf(wanted),
    start_date: wanted.startDate,
    not_after: wanted.notAfter,
    confirmed_count: wanted.confirmedCount,
    reason_code: wanted.reasonCode,
    start_check: wanted.startCheck,
  };
  const given = Object.entries(columns).filter(([, value]) => value !== undefined);
  const set = sql.join(given.map(([name, value]): SQL => sql`, ${sql.identifier(name)} = ${value}`));
  try {
    const outcome = await moveCampaign(tx, held, { to, set });
    await checkWhole(tx, held.id);
    return outcome;
  } catch (error) {
    if (errorCode(error) === '23503') throw new PermanentError('edit is invalid at /audienceId: no such audience');
    throw error;
  }
}

/** @throws PermanentError when the fields do not fit together; the caller's transaction is rolled back. */
async function checkWhole(tx: Tx, id: string): Promise<void> {
  const { rows } = await tx.execute<{ early: boolean; aimless: boolean; excluding: boolean }>(sql`
    select coalesce(not_after <= start_date, false) as early, cast_type = 'broadcast' and audience_id is not null as aimless,
           cast_type = 'broadcast' and cardinality(excluded_audience_ids) + cardinality(excluded_user_ids) > 0 as excluding
      from campaign where id = ${id}`);
  if (rows[0]?.early) throw new PermanentError('edit is invalid at /notAfter: must be later than startDate');
  if (rows[0]?.aimless) throw new PermanentError('edit is invalid at /audienceId: a broadcast goes to all friends');
  if (rows[0]?.excluding) throw new PermanentError('edit is invalid at /exclude: a broadcast leaves nobody out');
}
