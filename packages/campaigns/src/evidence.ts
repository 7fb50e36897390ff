import { createHash } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, sql, type Tx } from '@dueline/db';
import { definitionSha256 } from './definition.ts';
import { addPeople, type EvidenceTotals, NO_PEOPLE } from './evidence-lines.ts';

/** Requests that are read at once, so that any number needs little memory. */
const REQUESTS_PER_PAGE = 200;

const instant = (column: ReturnType<typeof sql>) => sql`to_json(${column}) #>> '{}'`;

/**
 * The evidence of a campaign, as lines of JSON: what it says and to whom (`campaign`), every request with its key, LINE's ids, its times, its
 * people counted and its body's hash (`request`), and at the end the totals and the SHA-256 of all lines before (`end`). All of one
 * moment: whatever goes on meanwhile is not in it. `verifyEvidence` checks such a file without the database.
 *
 * @param options.write Called with each line, without its line break, in order.
 * @returns The totals; undefined when the account has no such campaign: then nothing was written.
 */
export async function writeEvidence(
  db: Db,
  tenant: Tenant,
  { campaignId, write }: { campaignId: string; write: (line: string) => void },
): Promise<EvidenceTotals | undefined> {
  return inTransaction(db, async (tx) => {
    await tx.execute(sql`set transaction isolation level repeatable read, read only`);
    const head = await readHead(tx, tenant, campaignId);
    if (head === undefined) return undefined;
    const hash = createHash('sha256');
    const put = (line: object) => {
      const text = JSON.stringify(line);
      hash.update(`${text}\n`);
      write(text);
    };
    put(head);
    let totals: EvidenceTotals = { requests: 0, people: NO_PEOPLE };
    let after: Place = { chunkNo: -1, splitPath: '' };
    for (;;) {
      const page = await readRequests(tx, tenant, { campaignId, after });
      for (const request of page) {
        put(request);
        totals = addPeople(totals, request);
      }
      const last = page.at(-1);
      if (last === undefined || page.length < REQUESTS_PER_PAGE) break;
      after = { chunkNo: last.chunkNo, splitPath: last.splitPath };
    }
    write(JSON.stringify({ line: 'end', ...totals, sha256: hash.digest('hex') }));
    return totals;
  });
}

async function readHead(tx: Tx, tenant: Tenant, campaignId: string): Promise<object | undefined> {
  const { rows } = await tx.execute(sql`
    select 'campaign' as line, 1 as version, campaign.id as "campaignId", campaign.organization_id as "organizationId",
           campaign.line_oa_id as "lineOaId", account.channel_id as "channelId", campaign.name, campaign.status, reason_code as "reasonCode",
           cast_type as "castType", audience_id as "audienceId", excluded_audience_ids::text[] as "excludedAudienceIds",
           excluded_user_ids as "excludedUserIds", messages, ${definitionSha256} as "definitionSha256",
           confirmed_count as "confirmedCount", planned_count as "plannedCount", start_check as "startCheck",
           ${instant(sql`start_date`)} as "startDate", ${instant(sql`not_after`)} as "notAfter", ${instant(sql`frozen_at`)} as "frozenAt",
           ${instant(sql`sent_at`)} as "sentAt", ${instant(sql`app_now()`)} as "takenAt"
      from campaign join line_oa as account on account.id = campaign.line_oa_id
     where campaign.id = ${campaignId} and campaign.line_oa_id = ${tenant.lineOaId} and campaign.organization_id = ${tenant.organizationId}`);
  return rows[0];
}

type Place = { readonly chunkNo: number; readonly splitPath: string };
type RequestRow = Record<string, unknown> & {
  chunkNo: number;
  splitPath: string;
  status: string;
  people: number | null;
};

/** In the order of chunk and part, from behind `after`. The hash is taken of the stored body anew, so that it proves what is there. */
async function readRequests(
  tx: Tx,
  tenant: Tenant,
  { campaignId, after }: { campaignId: string; after: Place },
): Promise<RequestRow[]> {
  const { rows } = await tx.execute<RequestRow>(sql`
    with page as materialized (
      select delivery.* from delivery
       where logical_id = ${campaignId} and kind = 'campaign' and line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId}
         and (ordinal, split_path) > (${after.chunkNo}::int, ${after.splitPath}::text collate "C")
       order by ordinal, split_path limit ${REQUESTS_PER_PAGE}
    )
    select 'request' as line, ordinal as "chunkNo", split_path as "splitPath", epoch, endpoint, retry_key as "retryKey",
           case when split_path = '' then user_count else jsonb_array_length(body::jsonb -> 'to') end as people, status,
           page.reason_code as "reasonCode", body_sha256 as "bodySha256",
           encode(sha256(convert_to(body, 'UTF8')), 'hex') = body_sha256 as "bodyIsIntact",
           ${instant(sql`first_attempt_at`)} as "firstAttemptAt", ${instant(sql`accepted_at`)} as "acceptedAt",
           line_request_id as "lineRequestId", line_accepted_request_id as "lineAcceptedRequestId",
           (select coalesce(json_agg(json_build_object(
                     'attemptNo', attempt_no, 'retryKey', attempt.retry_key, 'startedAt', started_at, 'finishedAt', finished_at,
                     'outcome', outcome, 'httpStatus', http_status, 'lineRequestId', attempt.line_request_id) order by attempt_no), '[]')
              from delivery_attempt as attempt where attempt.delivery_id = page.id) as attempts
      from page join campaign_chunk as chunk on chunk.campaign_id = page.campaign_id and chunk.chunk_no = page.ordinal
     order by ordinal, split_path`);
  return rows;
}
