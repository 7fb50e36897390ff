import { MAX_RECIPIENTS_PER_CHUNK, type Tenant, type Ticket } from '@dueline/contracts';
import { type Db, inTenant, type SQL, sql, type Tx } from '@dueline/db';
import { newToken, PermanentError, tokenDigest } from '@dueline/kernel';
import type { Campaign } from './campaign.ts';
import { definitionSha256 } from './definition.ts';
import { getMonth, type Month } from './month.ts';
import { countFriends, countPeople } from './recipients.ts';
import { CAMPAIGN_COLUMNS, type CampaignRow, parseCampaign } from './row.ts';

/** How long a preview may be confirmed, in minutes of product time: as long as somebody looks at it. */
const CONFIRM_WITHIN_MINUTES = 15;
/**
 * By how much the people may have become more or fewer since the preview, in percent of those that were shown, rounded down: of fewer
 * than twenty by nobody. At the start they may have become more by as much, and fewer by any number.
 */
export const COUNT_TOLERANCE_PERCENT = 5;

/** What a campaign would be if it started now. */
export interface CampaignPreview {
  readonly campaign: Ticket;
  /** People who would be reached; null: a broadcast, whose people LINE alone knows. */
  readonly people: number | null;
  /** Friends in the audience who are left out. */
  readonly excluded: number;
  /** Requests to LINE. */
  readonly requests: number;
  /** Messages of the month that it uses, one for each person; of a broadcast at least one for each friend that we know. */
  readonly messages: number;
  /** What is left of the month, as LINE told last. */
  readonly month: Month;
  /** Confirms exactly this; null when nobody would be reached. */
  readonly token: string | null;
  /** RFC 3339, product time. */
  readonly confirmUntil: string | null;
}

/**
 * Counts whom a campaign would reach now, and remembers it under a token that scheduling and sending ask for. Changes nothing else.
 * Undefined when the campaign has moved on from the fence that the person saw, is frozen, or is no draft, nor scheduled, nor held before its start.
 */
export async function previewCampaign(
  db: Db,
  tenant: Tenant,
  { campaign, by }: { campaign: Ticket; by: string },
): Promise<CampaignPreview | undefined> {
  return inTenant(db, tenant, async (tx) => {
    const shown = await readEditable(tx, campaign, sql``);
    if (shown === undefined) return undefined;
    const month = await getMonth(tx, tenant);
    const people = await countRecipients(tx, shown.campaign);
    const counted = { campaign, month, excluded: await countExcluded(tx, shown.campaign, people) };
    const messages = people ?? (await countKnownFriends(tx, tenant));
    const requests = people === null ? 1 : Math.ceil(people / MAX_RECIPIENTS_PER_CHUNK);
    if (people === 0) return { ...counted, people, messages, requests, token: null, confirmUntil: null };
    const token = newToken();
    const confirmUntil = await remember(tx, tenant, { campaign, token, by, people, sha256: shown.definitionSha256 });
    return { ...counted, people, messages, requests, token, confirmUntil };
  });
}

type Editable = { readonly campaign: Campaign; readonly definitionSha256: string };

/** The campaign under exactly this fence, while people may still change it. */
async function readEditable(tx: Tx, { id, fence }: Ticket, locked: SQL): Promise<Editable | undefined> {
  const { rows } = await tx.execute<CampaignRow & { definition_sha256: string }>(sql`
    select ${CAMPAIGN_COLUMNS}, ${definitionSha256} as definition_sha256 from campaign
     where id = ${id} and fence = ${fence} and status in ('draft', 'scheduled', 'needs_attention')
       and frozen_at is null and deleted_date is null
     ${locked}`);
  const [row] = rows;
  return row && { campaign: parseCampaign(row), definitionSha256: row.definition_sha256 };
}

/** How many people a freeze would reach now; null for a broadcast. */
export async function countRecipients(tx: Tx, campaign: Campaign): Promise<number | null> {
  return campaign.castType === 'broadcast' ? null : countPeople(tx, campaign);
}

async function countExcluded(tx: Tx, campaign: Campaign, people: number | null): Promise<number> {
  const { excludedAudienceIds, excludedUserIds } = campaign;
  if (people === null || excludedAudienceIds.length + excludedUserIds.length === 0) return 0;
  return (await countFriends(tx, campaign)) - people;
}

/** Friends of the account that we know; LINE may know more. */
export async function countKnownFriends(tx: Tx, { organizationId, lineOaId }: Tenant): Promise<number> {
  const { rows } = await tx.execute<{ count: number }>(sql`
    select count(*)::int as count from line_user where line_oa_id = ${lineOaId} and organization_id = ${organizationId} and is_following`);
  return Number(rows[0]?.count);
}

interface Remembered {
  readonly campaign: Ticket;
  readonly token: string;
  readonly by: string;
  readonly people: number | null;
  readonly sha256: string;
}

async function remember(
  tx: Tx,
  tenant: Tenant,
  { campaign, token, by, people, sha256 }: Remembered,
): Promise<string | null> {
  await tx.execute(sql`delete from campaign_preview where expires_at < app_now() - interval '7 days'`);
  const { rows } = await tx.execute<{ confirm_until: string }>(sql`
    insert into campaign_preview (organization_id, line_oa_id, campaign_id, token_sha256, fence, definition_sha256, people, previewed_by, expires_at)
    values (${tenant.organizationId}, ${tenant.lineOaId}, ${campaign.id}, ${tokenDigest(token)}, ${campaign.fence}, ${sha256}, ${people}, ${by},
            app_now() + make_interval(mins => ${CONFIRM_WITHIN_MINUTES}))
    returning to_json(expires_at) #>> '{}' as confirm_until`);
  return rows[0]?.confirm_until ?? null;
}

type PreviewRow = {
  id: string;
  campaign_id: string;
  fence: string;
  definition_sha256: string;
  people: number | null;
  is_old: boolean;
  is_confirmed: boolean;
};

/**
 * Takes a preview's token for the change that it confirms, in the transaction of that change; the campaign is held until it ends. Each
 * token confirms once. `people` is what the person was shown.
 *
 * @returns Undefined when the campaign is not under this fence any more, frozen, deleted, or no draft, nor scheduled, nor held before its start.
 * @throws PermanentError when the token is of no preview of this account, of another campaign, used or too old; when content, audience or
 * exclusions have changed since; when nobody would be reached any more; when the people have become more or fewer by more than
 * {@link COUNT_TOLERANCE_PERCENT}: then how many they were and are.
 */
export async function confirmPreview(
  tx: Tx,
  { campaign, token, by }: { campaign: Ticket; token: string; by: string },
): Promise<{ readonly people: number | null } | undefined> {
  const now = await readEditable(tx, campaign, sql`for no key update`);
  if (now === undefined) return undefined;
  const { rows } = await tx.execute<PreviewRow>(sql`
    select id, campaign_id, fence, definition_sha256, people, expires_at < app_now() as is_old, confirmed_at is not null as is_confirmed
      from campaign_preview
     where token_sha256 = ${tokenDigest(token)} and organization_id = ${now.campaign.organizationId} and line_oa_id = ${now.campaign.lineOaId}
       for no key update`);
  const [shown] = rows;
  const why = whyNot(shown, now);
  if (shown === undefined || why !== undefined) throw new PermanentError(why ?? NO_PREVIEW);
  if (shown.people !== null) refuseDrift(shown.people, await countRecipients(tx, now.campaign));
  await tx.execute(
    sql`update campaign_preview set confirmed_by = ${by}, confirmed_at = app_now() where id = ${shown.id}`,
  );
  return { people: shown.people };
}

const NO_PREVIEW = 'no preview of this account has this token';

function whyNot(shown: PreviewRow | undefined, { campaign, definitionSha256: sha256 }: Editable): string | undefined {
  if (shown === undefined) return NO_PREVIEW;
  if (shown.campaign_id !== campaign.id)
    return `the preview was of campaign ${shown.campaign_id}, not of ${campaign.id}`;
  if (shown.is_confirmed) return 'the preview was confirmed before; look again';
  if (shown.is_old) return 'the preview is too old; look again';
  if (shown.fence !== campaign.fence || shown.definition_sha256 !== sha256)
    return 'the campaign has changed since the preview; look again';
  return undefined;
}

/** How many people more or fewer than were shown make no difference. Pure. */
export const toleratedDrift = (shown: number): number => Math.floor((shown * COUNT_TOLERANCE_PERCENT) / 100);

function refuseDrift(shown: number, now: number | null): void {
  if (now === 0)
    throw new PermanentError(`nobody would be reached any more: there were ${shown} people at the preview; look again`);
  if (now === null || Math.abs(now - shown) > toleratedDrift(shown))
    throw new PermanentError(
      `there were ${shown} people at the preview and are ${now} now, which is more than ${COUNT_TOLERANCE_PERCENT} % off; look again`,
    );
}
