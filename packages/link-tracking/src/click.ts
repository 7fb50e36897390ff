import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, refuseIf, sql, type Tx } from '@dueline/db';
import { PermanentError, storableText } from '@dueline/kernel';
import { isRobot } from './robots.ts';

/**
 * Which link was clicked: by the code of its issue, or a link of an account and who clicked it. Beside a code, `userId` is the person
 * whom the caller has verified (by LIFF's id token, never by a parameter that anybody can write); without it a click is of the person to
 * whom the link was issued, and of nobody known when it was issued to a campaign.
 */
export type ClickedLink =
  | { readonly code: string; readonly userId?: string | undefined }
  | (Tenant & { readonly trackedLinkId: string; readonly userId: string });

export interface Click {
  /** The same click reported again, by a retry or another service, has the same key and is one fact. */
  readonly idempotencyKey: string;
  readonly userAgent?: string | undefined;
  /** RFC 3339; now, when left out. What counts for a deadline, however late the click is recorded. */
  readonly occurredAt?: string | undefined;
}

export interface RecordedClick {
  /** Where the person goes. */
  readonly url: string;
  /** Kept, but ends no wait. */
  readonly isRobot: boolean;
  /** False: this click was known already. */
  readonly isNew: boolean;
}

type Target = {
  organization_id: string;
  line_oa_id: string;
  tracked_link_id: string;
  link_issue_id: string | null;
  user_id: string | null;
  url: string;
};

const REFUSALS = {
  '22P02': 'no such link',
  '22021': 'a text cannot be stored',
  '54000': 'the key of a report is too long',
  '22007': 'the time of a click is not RFC 3339',
  '22008': 'the time of a click is out of range',
  '23514': 'the user id is not one of LINE',
};

/**
 * Records that a person, or a robot, clicked a link, and says where it leads. What waits for the click is unlocked by the event
 * that the row becomes, not here.
 *
 * @throws PermanentError when there is no such link, or the time or user id is malformed: then nothing is recorded.
 */
export async function recordClick(db: Db, clicked: ClickedLink, click: Click): Promise<RecordedClick> {
  return refuseIf(REFUSALS, async () => {
    const target = 'code' in clicked ? await targetOfIssue(db, clicked) : await targetOfLink(db, clicked);
    if (target === undefined) throw new PermanentError('no such link');
    const robot = isRobot(click.userAgent);
    const tenant = { organizationId: target.organization_id, lineOaId: target.line_oa_id };
    const isNew = await inTenant(db, tenant, (tx) => insertClick(tx, target, { ...click, robot }));
    return { url: target.url, isRobot: robot, isNew };
  });
}

/** Across all accounts: the code is all that a browser brings, and it is unique and unguessable. */
async function targetOfIssue(
  db: Db,
  { code, userId }: { code: string; userId?: string | undefined },
): Promise<Target | undefined> {
  const { rows } = await db.execute<Target>(sql`
    select issue.organization_id, issue.line_oa_id, issue.tracked_link_id, issue.id as link_issue_id,
           coalesce(${userId ?? null}, issue.user_id) as user_id, link.url
      from link_issue as issue join tracked_link as link on link.id = issue.tracked_link_id
     where issue.code = ${storableText(code)} and link.deleted_date is null`);
  return rows[0];
}

const targetOfLink = (db: Db, link: Exclude<ClickedLink, { code: string }>): Promise<Target | undefined> =>
  inTenant(db, link, async (tx) => {
    const { rows } = await tx.execute<Target>(sql`
      select organization_id, line_oa_id, id as tracked_link_id, null::bigint as link_issue_id, ${link.userId} as user_id, url
        from tracked_link
       where id = ${link.trackedLinkId} and deleted_date is null`);
    return rows[0];
  });

async function insertClick(tx: Tx, target: Target, click: Click & { robot: boolean }): Promise<boolean> {
  const userAgent = click.userAgent === undefined ? null : storableText(click.userAgent);
  const { rowCount } = await tx.execute(sql`
    insert into link_click (organization_id, line_oa_id, tracked_link_id, link_issue_id, user_id, is_robot, user_agent,
                            idempotency_key, occurred_at)
    values (${target.organization_id}, ${target.line_oa_id}, ${target.tracked_link_id}, ${target.link_issue_id}, ${target.user_id},
            ${click.robot}, ${userAgent}, ${click.idempotencyKey}, coalesce(${click.occurredAt ?? null}::timestamptz, app_now()))
        on conflict (line_oa_id, idempotency_key) do nothing`);
  return rowCount === 1;
}
