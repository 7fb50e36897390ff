import type { Tenant, Ticket } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { type ControlOutcome, holdCampaign, isRefused } from './control.ts';

/** A new draft that says the same to the same people, whatever became of the campaign; undefined: the account has none of this id. */
export async function copyCampaign(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  { id }: { id: string },
): Promise<Ticket | undefined> {
  const { rows } = await tx.execute<{ id: string; fence: string }>(sql`
    insert into campaign (organization_id, line_oa_id, name, cast_type, audience_id, excluded_audience_ids, excluded_user_ids,
                          messages, max_per_minute)
    select organization_id, line_oa_id, name, cast_type, audience_id, excluded_audience_ids, excluded_user_ids, messages, max_per_minute
      from campaign
     where id = ${id} and organization_id = ${organizationId} and line_oa_id = ${lineOaId}
    returning id, fence`);
  return rows[0];
}

/** Hides a draft, or a campaign that has ended, from lists; its requests and results stay. */
export async function deleteCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign }: { campaign: Ticket },
): Promise<ControlOutcome> {
  const from = ['draft', 'sent', 'failed', 'cancel'] as const;
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from } });
  if (isRefused(held)) return held;
  const { id, fence, status } = held;
  await tx.execute(
    sql`update campaign set deleted_date = app_now(), updated_date = clock_timestamp() where id = ${id}`,
  );
  return { result: 'changed', campaign: { id, fence }, before: status, status, inFlight: 0 };
}
