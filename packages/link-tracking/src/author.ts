import { randomBytes } from 'node:crypto';
import { isStorable, lineUserId, type Tenant } from '@dueline/contracts';
import { type Db, inTenant, refuseIf, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';

const MAX_NAME_LENGTH = 200;

/** 128 random bits: nobody finds the link of somebody else by trying. */
const CODE_BYTES = 16;

/**
 * Creates a link whose clicks are counted, and returns its id.
 *
 * @throws PermanentError when the name is empty or too long, or the url is not http(s) of at most 2,000 characters.
 */
export async function createTrackedLink(
  db: Db,
  tenant: Tenant,
  { name, url }: { name: string; url: string },
): Promise<string> {
  if (name === '' || name.length > MAX_NAME_LENGTH || !isStorable(name)) {
    throw new PermanentError(`the name of a link has 1 to ${MAX_NAME_LENGTH} characters`);
  }
  if (!URL.canParse(url) || !isStorable(url)) throw new PermanentError('the target of a link is not a url');
  return refuseIf({ '23514': 'the target of a link is not http or https, or longer than 2,000 characters' }, () =>
    inTenant(db, tenant, async (tx) => {
      const { rows } = await tx.execute<{ id: string }>(sql`
        insert into tracked_link (organization_id, line_oa_id, name, url)
        values (${tenant.organizationId}, ${tenant.lineOaId}, ${name}, ${url}) returning id`);
      if (rows[0] === undefined) throw new Error('insert returned no row');
      return rows[0].id;
    }),
  );
}

/** A link as it goes into messages. */
export interface LinkIssue {
  readonly id: string;
  /** What a click comes back with; 22 characters that are safe in a url. */
  readonly code: string;
}

/**
 * Issues a link for one message to one person, so that its click is known to be that person's and of that message.
 *
 * @param issue.scheduledActionId The work that the message belongs to, if any.
 * @throws PermanentError when the link does not exist in this account, or the user id is not one of LINE's.
 */
export function issueLink(
  db: Db,
  tenant: Tenant,
  issue: { trackedLinkId: string; userId: string; scheduledActionId?: string },
): Promise<LinkIssue> {
  if (!lineUserId.safeParse(issue.userId).success) return refuse('the user id is not one of LINE');
  return insertIssue(db, tenant, { ...issue, scheduledActionId: issue.scheduledActionId ?? null, campaignId: null });
}

/**
 * Issues a link for the messages of a campaign, which are the same for everybody: a click says which campaign and link, and who it was
 * only where the service that takes the click knows the person (LIFF). The same link in the same campaign has the same code.
 *
 * @throws PermanentError when the link or the campaign does not exist in this account.
 */
export const issueCampaignLink = (
  db: Db,
  tenant: Tenant,
  { trackedLinkId, campaignId }: { trackedLinkId: string; campaignId: string },
): Promise<LinkIssue> => insertIssue(db, tenant, { trackedLinkId, campaignId, userId: null, scheduledActionId: null });

interface NewIssue {
  readonly trackedLinkId: string;
  readonly userId: string | null;
  readonly scheduledActionId: string | null;
  readonly campaignId: string | null;
}

const NOT_HERE = { '22P02': 'no such link or campaign in this account', '23503': 'no such campaign in this account' };

const insertIssue = (db: Db, tenant: Tenant, issue: NewIssue): Promise<LinkIssue> =>
  refuseIf(NOT_HERE, () =>
    inTenant(db, tenant, async (tx) => {
      const { rows } = await tx.execute<{ id: string; code: string }>(sql`
        insert into link_issue (organization_id, line_oa_id, tracked_link_id, user_id, code, scheduled_action_id, campaign_id)
        select organization_id, line_oa_id, id, ${issue.userId}, ${randomBytes(CODE_BYTES).toString('base64url')},
               ${issue.scheduledActionId}::bigint, ${issue.campaignId}::bigint
          from tracked_link
         where id = ${issue.trackedLinkId} and deleted_date is null
            on conflict (campaign_id, tracked_link_id) where campaign_id is not null do update set code = link_issue.code
        returning id, code`);
      return rows[0] ?? refuse('no such link in this account');
    }),
  );

const refuse = (why: string): Promise<never> => Promise.reject(new PermanentError(why));
