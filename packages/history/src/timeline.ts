import { lineUserId, type Tenant } from '@dueline/contracts';
import { type Db, type SQL, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { parsePosition, positionAfter, readInOrder, sizeOf } from './page.ts';
import { upcomingOf } from './upcoming.ts';

/** A message, or the switch of a menu, that came of a decision: how it stands at LINE. */
interface Sent {
  readonly deliveryId: string;
  readonly endpoint: string;
  readonly status: string;
  readonly reasonCode: string | null;
  readonly acceptedAt: string | null;
  /** When it is tried next; null: it is at its end, or waits for another one. */
  readonly nextAttemptAt: string | null;
  readonly lineRequestId: string | null;
}

/**
 * What happened about a person. `event`: what they did, or what changed about them (`occurredAt` is when; `at` when it was decided);
 * `decision`: what a rule made of it, with what was sent; `campaign`: a campaign whose recipients they are among.
 */
export type PastEntry = { readonly at: string } & (
  | {
      readonly kind: 'event';
      readonly eventId: string;
      readonly topic: string;
      readonly occurredAt: string;
      readonly payload: Readonly<Record<string, unknown>>;
      /** Of a click: the name of the link. */
      readonly linkName: string | null;
    }
  | {
      readonly kind: 'decision';
      readonly id: string;
      readonly triggerRuleId: string | null;
      readonly ruleName: string | null;
      readonly ruleVersion: number | null;
      readonly triggerOn: string;
      readonly decision: string;
      readonly reasonCode: string;
      readonly actionType: string | null;
      readonly actionConfig: unknown;
      readonly errorMessage: string | null;
      readonly eventId: string | null;
      readonly scheduledActionId: string | null;
      readonly sent: readonly Sent[];
    }
  | {
      readonly kind: 'campaign';
      readonly campaignId: string;
      readonly name: string;
      readonly status: string;
      readonly sent: readonly Sent[];
    }
);

/**
 * What is to come. `action`: work that waits; `campaign`: one that is scheduled and has them in its audience now; `cycle`: the next of a time
 * rule, which may ask more of them then (`asks`: a date or conditions). Null instants: when something happens, or nobody knows.
 */
export type UpcomingEntry = { readonly at: string | null } & (
  | {
      readonly kind: 'action';
      readonly id: string;
      readonly triggerRuleId: string | null;
      readonly ruleName: string | null;
      readonly status: string;
      readonly actionType: string;
      readonly actionConfig: unknown;
      readonly expiresAt: string | null;
      readonly waitsFor: readonly { readonly source: string; readonly refId: string | null; readonly branch: string }[];
    }
  | { readonly kind: 'campaign'; readonly campaignId: string; readonly name: string }
  | { readonly kind: 'cycle'; readonly triggerRuleId: string; readonly ruleName: string; readonly asks: boolean }
);

/** The life of a person with an account. Instants are RFC 3339. */
export interface Timeline {
  readonly userId: string;
  /** Null: the account knows no such person; there may be history of them all the same. */
  readonly person: { readonly displayName: string | null; readonly isFollowing: boolean } | null;
  /** The earliest first, 100 at most. */
  readonly upcoming: readonly UpcomingEntry[];
  /** The newest first. */
  readonly past: readonly PastEntry[];
  /** Names the next page of the past; null: this is the last. */
  readonly next: string | null;
}

/** Campaigns of an account that one page looks into for the person, the newest first: each look reads a list of 500 people. */
const CAMPAIGNS_LOOKED_AT = 100;
/** Events come before the decisions that they led to, in the same transaction. */
const RANKS = { campaign: '1', event: '2', decision: '3', looked: '1' } as const;

/**
 * All that is known of a person of the account, in one statement for the past and what is to come. Pages of the past are keyset pages.
 *
 * @param options.limit Entries of the past, 1 to 500.
 * @param options.after `next` of the page before; not given: the newest.
 * @throws PermanentError that says what is wrong with the person's id, `limit` or `after`.
 */
export function timelineOf(
  db: Db,
  tenant: Tenant,
  { userId, limit, after }: { userId: string; limit: number; after?: string | undefined },
): Promise<Timeline> {
  if (!lineUserId.safeParse(userId).success) throw new PermanentError(`${userId} is not a user id of LINE`);
  const size = sizeOf(limit);
  const { at, keys } =
    after === undefined
      ? { at: 'infinity', keys: ['9', ''] }
      : parsePosition(after, [/^[1-3]$/, /^([0-9]{19}|[0-9a-f-]{36})$/]);
  const [rank = '', key = ''] = keys;
  return readInOrder(db, tenant, async (tx) => {
    const of = { tenant, userId, size, at, rank, key };
    const { rows } = await tx.execute<Row>(sql`
      with events as (${events(of)}), decisions as (${decisions(of)}),
           looked as materialized (${lookedAt(of)}), campaigns as (${campaigns(of)}),
           upcoming as (${upcomingOf(tenant, userId)})
      select 'past' as part, kind, key, to_json(at) #>> '{}' as at, entry
        from (select * from events union all select * from decisions union all select * from campaigns
              union all (select 'looked', frozen_at, key, null from looked where n = ${CAMPAIGNS_LOOKED_AT}::int)) as past
      union all
      select 'upcoming', kind, '', to_json(nullif(at, 'infinity')) #>> '{}', entry from upcoming
      union all
      select 'person', '', '', null, jsonb_build_object('displayName', display_name, 'isFollowing', is_following)
        from line_user where line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId} and user_id = ${userId}`);
    return assemble(rows, { userId, size });
  });
}

type Row = {
  part: 'past' | 'upcoming' | 'person';
  kind: keyof typeof RANKS;
  key: string;
  at: string | null;
  entry: object;
};

/** Sorted here, because what is sorted there is sorted for all parts; what lies behind the last campaign that was looked at is left to the next page. */
function assemble(rows: readonly Row[], { userId, size }: { userId: string; size: number }): Timeline {
  const past = rows.filter(({ part }) => part === 'past').sort(newestFirst);
  const end = past.findIndex(({ kind }) => kind === 'looked');
  const shown = past.slice(0, end === -1 ? size : Math.min(size, end));
  const isMore = past.length > shown.length;
  const last = shown.length === size ? shown.at(-1) : past[end];
  const next = isMore && last !== undefined ? positionOf(last) : null;
  const upcoming = rows.filter(({ part }) => part === 'upcoming').sort(earliestFirst);
  return {
    userId,
    person: (rows.find(({ part }) => part === 'person')?.entry ?? null) as Timeline['person'],
    upcoming: upcoming.map(({ kind, at, entry }) => ({ kind, at, ...entry }) as unknown as UpcomingEntry),
    past: shown.map(({ kind, at, entry }) => ({ kind, at, ...entry }) as unknown as PastEntry), // as the statement builds them
    next,
  };
}

const positionOf = ({ at, kind, key }: Row): string => positionAfter({ at: at ?? '', keys: [RANKS[kind], key] });

const instantOf = ({ at }: Row): bigint | number =>
  at === null ? Number.POSITIVE_INFINITY : Temporal.Instant.from(at).epochNanoseconds;

const compare = (left: bigint | number | string, right: bigint | number | string): number =>
  left < right ? -1 : left > right ? 1 : 0;

const newestFirst = (left: Row, right: Row): number =>
  compare(instantOf(right), instantOf(left)) ||
  compare(RANKS[right.kind], RANKS[left.kind]) ||
  compare(right.key, left.key) ||
  compare(left.kind, right.kind);

const earliestFirst = (left: Row, right: Row): number => compare(instantOf(left), instantOf(right));

interface Asked {
  readonly tenant: Tenant;
  readonly userId: string;
  readonly size: number;
  readonly at: string;
  readonly rank: string;
  readonly key: string;
}

/** Rows of one source before the place where the page begins: the instant bounds the index, the rest tells rows of one instant apart. */
const before = (
  { at, rank, key }: Asked,
  { kind, column, rowKey }: { kind: keyof typeof RANKS; column: SQL; rowKey: SQL },
): SQL => sql`
  ${column} <= ${at}::timestamptz
  and (${column}, ${sql.raw(`'${RANKS[kind]}'`)}, ${rowKey} collate "C") < (${at}::timestamptz, ${rank}::text, ${key}::text collate "C")`;

const limitOf = ({ size }: Asked): SQL => sql.raw(String(size + 1));

const events = (of: Asked): SQL => sql`
  select 'event' as kind, decided_at as at, event_id::text as key,
         jsonb_build_object('eventId', event_id, 'topic', topic, 'occurredAt', occurred_at, 'payload', payload, 'linkName', (
           select link.name from tracked_link as link
            where topic = 'campaign_click' and link.id::text = payload ->> 'tracked_link_id')) as entry
    from (select * from event_archive
           where line_oa_id = ${of.tenant.lineOaId} and organization_id = ${of.tenant.organizationId} and user_id = ${of.userId}
             and topic <> 'delivery_settled' and ${before(of, { kind: 'event', column: sql`decided_at`, rowKey: sql`event_id::text` })}
           order by decided_at desc, event_id desc limit ${limitOf(of)}) as page`;

const decisions = (of: Asked): SQL => sql`
  select 'decision', page.created_date, lpad(page.id::text, 19, '0'),
         jsonb_build_object('id', page.id::text, 'triggerRuleId', trigger_rule_id::text, 'ruleName', rule.name, 'ruleVersion', rule_version,
           'triggerOn', trigger_on, 'decision', decision, 'reasonCode', reason_code, 'actionType', page.action_type,
           'actionConfig', page.action_config, 'errorMessage', error_message, 'eventId', event_id,
           'scheduledActionId', scheduled_action_id::text, 'sent', ${sent(sql`
             from delivery
            where decision = 'fired' and kind = case when page.scheduled_action_id is null then 'event' else 'action' end
              and logical_id = coalesce(page.scheduled_action_id::text, page.event_id || ':' || page.trigger_rule_id)
              and line_oa_id = page.line_oa_id`)})
    from (select * from trigger_log
           where line_oa_id = ${of.tenant.lineOaId} and organization_id = ${of.tenant.organizationId} and user_id = ${of.userId}
             and ${before(of, { kind: 'decision', column: sql`created_date`, rowKey: sql`lpad(id::text, 19, '0')` })}
           order by created_date desc, id desc limit ${limitOf(of)}) as page
    left join trigger_rule as rule on rule.id = page.trigger_rule_id`;

/** What was asked of LINE, by the rows of `delivery` that this names. */
const sent = (fromDelivery: SQL): SQL => sql`(
  select coalesce(jsonb_agg(jsonb_build_object('deliveryId', delivery.id::text, 'endpoint', endpoint, 'status', delivery.status,
           'reasonCode', delivery.reason_code, 'acceptedAt', accepted_at,
           'nextAttemptAt', case when delivery.status = 'planned' then nullif(next_attempt_at, 'infinity') end,
           'lineRequestId', coalesce(line_accepted_request_id, line_request_id)) order by epoch, ordinal, delivery.id), '[]') ${fromDelivery})`;

const lookedAt = (of: Asked): SQL => sql`
  select *, row_number() over (order by frozen_at desc, id desc) as n, lpad(id::text, 19, '0') as key
    from (select * from campaign
           where line_oa_id = ${of.tenant.lineOaId} and organization_id = ${of.tenant.organizationId} and frozen_at is not null
             and ${before(of, { kind: 'campaign', column: sql`frozen_at`, rowKey: sql`lpad(id::text, 19, '0')` })}
           order by frozen_at desc, id desc limit ${CAMPAIGNS_LOOKED_AT}::int) as newest`;

/** Chunks are sorted, so of each campaign one is looked into: the last that begins before the person. A broadcast has one, without people. */
const campaigns = (of: Asked): SQL => sql`
  select 'campaign', frozen_at, key,
         jsonb_build_object('campaignId', campaign.id::text, 'name', name, 'status', campaign.status, 'sent', ${sent(sql`
           from delivery
          where delivery.kind = 'campaign' and delivery.logical_id = campaign.id::text and delivery.ordinal = chunk.chunk_no
            and delivery.line_oa_id = campaign.line_oa_id and delivery.status <> 'split'
            and (split_path = '' or (body::jsonb -> 'to') @> to_jsonb(${of.userId}::text))`)})
    from looked as campaign
   cross join lateral (
     (select chunk_no, user_ids from campaign_chunk as within
       where cast_type = 'multicast' and within.campaign_id = campaign.id and within.user_ids[1] <= ${of.userId}
       order by within.user_ids[1] desc limit 1)
     union all
     select 0, null where cast_type = 'broadcast') as chunk
   where chunk.user_ids is null or ${of.userId} = any(chunk.user_ids)
   order by frozen_at desc, campaign.id desc limit ${limitOf(of)}`;
