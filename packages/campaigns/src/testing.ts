import type { Tenant, Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { type CampaignSchedule, createCampaign, scheduleCampaign } from './author.ts';
import type { CampaignDraft } from './definition.ts';
import { previewCampaign } from './preview.ts';

/** Looks at a campaign and schedules it as it was seen, as a person does. */
export async function scheduleAsSeen(
  db: Db,
  tenant: Tenant,
  { campaign, ...schedule }: CampaignSchedule & { campaign: Ticket },
): Promise<Ticket> {
  const by = 'test';
  const { token = null } = (await previewCampaign(db, tenant, { campaign, by })) ?? {};
  if (token === null) throw new Error('the campaign is for nobody, or no draft of the account');
  const scheduled = await scheduleCampaign(db, tenant, { ...schedule, campaign, token, by });
  if (scheduled === undefined) throw new Error('a draft of one’s own can be scheduled');
  return scheduled;
}

type Multicast = Extract<CampaignDraft, { castType: 'multicast' }>;

/** A campaign that came due long ago, confirmed as its author saw it, and its ticket: to an audience when one is named, else to all friends. */
export async function dueCampaign(
  db: Db,
  tenant: Tenant,
  {
    audienceId,
    exclude,
    text = 'hello 🎉',
    ...schedule
  }: Partial<CampaignSchedule> & Pick<Multicast, 'exclude'> & { audienceId?: string; text?: string } = {},
): Promise<Ticket> {
  const common = { name: 'campaign', messages: [{ type: 'text' as const, text }] };
  const draft: CampaignDraft =
    audienceId === undefined
      ? { ...common, castType: 'broadcast' }
      : { ...common, castType: 'multicast', audienceId, exclude };
  const campaign = await createCampaign(db, tenant, draft);
  return scheduleAsSeen(db, tenant, { startDate: '2026-01-01T00:00:00Z', ...schedule, campaign });
}
