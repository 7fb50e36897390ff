import type { Tenant, Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { type CampaignDraft, type CampaignSchedule, createCampaign, scheduleCampaign } from './author.ts';

/** A campaign that came due long ago, and its ticket: to an audience when one is named, else to all friends. */
export async function dueCampaign(
  db: Db,
  tenant: Tenant,
  {
    audienceId,
    text = 'hello 🎉',
    ...schedule
  }: Partial<CampaignSchedule> & { audienceId?: string; text?: string } = {},
): Promise<Ticket> {
  const common = { name: 'campaign', messages: [{ type: 'text' as const, text }] };
  const draft: CampaignDraft =
    audienceId === undefined ? { ...common, castType: 'broadcast' } : { ...common, castType: 'multicast', audienceId };
  const campaign = await createCampaign(db, tenant, draft);
  const scheduled = await scheduleCampaign(db, tenant, { startDate: '2026-01-01T00:00:00Z', ...schedule, campaign });
  if (scheduled === undefined) throw new Error('a draft of one’s own can be scheduled');
  return scheduled;
}
