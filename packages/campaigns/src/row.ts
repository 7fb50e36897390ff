import type { CastType, TextMessage } from '@dueline/contracts';
import { sql } from '@dueline/db';
import type { Campaign } from './campaign.ts';

export type CampaignRow = {
  id: string;
  fence: string;
  organization_id: string;
  line_oa_id: string;
  cast_type: CastType;
  audience_id: string | null;
  excluded_audience_ids: string[];
  excluded_user_ids: string[];
  messages: TextMessage[];
  not_after: string | null;
  confirmed_count: number | null;
  ignores_quota: boolean;
  is_frozen: boolean;
};

/** What {@link parseCampaign} reads. Excluded audiences of another account, which nobody can name, are none. */
export const CAMPAIGN_COLUMNS = sql`
  campaign.id, campaign.fence, campaign.organization_id, campaign.line_oa_id, cast_type, audience_id, excluded_user_ids,
  array(select audience.id::text from audience
         where audience.id = any(campaign.excluded_audience_ids) and audience.line_oa_id = campaign.line_oa_id order by 1) as excluded_audience_ids, messages, not_after, confirmed_count, ignores_quota, frozen_at is not null as is_frozen`;

export const parseCampaign = (row: CampaignRow): Campaign => ({
  id: row.id,
  fence: row.fence,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  castType: row.cast_type,
  audienceId: row.audience_id,
  excludedAudienceIds: row.excluded_audience_ids,
  excludedUserIds: row.excluded_user_ids,
  messages: row.messages,
  notAfter: row.not_after,
  confirmedCount: row.confirmed_count,
  ignoresQuota: row.ignores_quota,
  isFrozen: row.is_frozen,
});
