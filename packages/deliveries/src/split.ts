import { column, type Db, type SQL, sql, type Tx } from '@dueline/db';
import { type NamedRow, sendOf } from './new-epoch.ts';
import { retryKey } from './retry-key.ts';
import type { AttemptResult, Settlement } from './settle.ts';
import type { StartedDelivery } from './start.ts';

/**
 * What a refusal that proves that nobody got the request ends as. `split`: its people go on in two requests of their own. `refused`, with
 * why: `invalid_recipient`, LINE takes the message but not this one person; `too_large`, even for one; `content`, LINE would take the
 * message for nobody; else what kind of answer it was.
 */
export type RefusalEnd =
  | { readonly to: 'split'; readonly reasonCode: 'split' }
  | { readonly to: 'refused'; readonly reasonCode: 'invalid_recipient' | 'too_large' | 'content' | 'refused' };

const BAD_REQUEST = 400;
const TOO_LARGE = 413;

/** Pure. Only for what is clean: whom an earlier attempt may have reached must be asked for under the same key. */
export function endOfRefusal(
  { endpoint, body }: Pick<StartedDelivery, 'endpoint' | 'body'>,
  { httpStatus, refusedFor }: Pick<AttemptResult, 'httpStatus' | 'refusedFor'>,
): RefusalEnd {
  if (refusedFor === 'content') return { to: 'refused', reasonCode: 'content' };
  const isOfPeople = endpoint === 'push' || endpoint === 'multicast';
  if (!isOfPeople || (httpStatus !== BAD_REQUEST && httpStatus !== TOO_LARGE))
    return { to: 'refused', reasonCode: 'refused' };
  if (endpoint === 'multicast' && parse(body).to.length > 1) return { to: 'split', reasonCode: 'split' };
  return { to: 'refused', reasonCode: httpStatus === TOO_LARGE ? 'too_large' : 'invalid_recipient' };
}

/**
 * Two parts of a list: those whom LINE's answer names by their places and the others, or two halves if it names nobody, or everybody. Each
 * has somebody, and keeps the order.
 */
export function splitPeople(userIds: readonly string[], detail: string | undefined): [string[], string[]] {
  const named = new Set(Array.from((detail ?? '').matchAll(/\bto\[(\d{1,3})\]/g), ([, place]) => Number(place)));
  const isNamed = (_: string, place: number) => named.has(place);
  const [out, rest] = [userIds.filter(isNamed), userIds.filter((id, place) => !isNamed(id, place))];
  if (out.length > 0 && rest.length > 0) return [out, rest];
  const half = Math.ceil(userIds.length / 2);
  return [userIds.slice(0, half), userIds.slice(half)];
}

/** A request for some of the people of a request that is split. */
export interface Part {
  readonly parentId: string;
  readonly splitPath: string;
  readonly retryKey: string;
  readonly body: string;
  /** Until it is due, in milliseconds of product time. */
  readonly waitMs: number;
}

/** The two parts of each of these, which its owner has settled as `split`. What they are named by does not change while it owns them. */
export async function partsOf(db: Db | Tx, settlements: readonly Settlement[]): Promise<Part[]> {
  if (settlements.length === 0) return [];
  const ids = column(
    settlements.map(({ started }) => started.id),
    'bigint',
  );
  const { rows } = await db.execute<NamedRow>(sql`
    select delivery.id, account.channel_id, kind, logical_id, epoch, endpoint, ordinal, split_path
      from delivery join line_oa as account on account.id = delivery.line_oa_id where delivery.id = any(${ids})`);
  const named = new Map(rows.map((row) => [row.id, row]));
  return settlements.flatMap(({ started, result }) => {
    const row = named.get(started.id);
    if (row === undefined) return [];
    const { to, request } = parse(started.body);
    return splitPeople(to, result.detail).map((people, branch) => {
      const splitPath = `${row.split_path}${branch}`;
      const body = JSON.stringify({ ...request, to: people });
      const waitMs = people.length === 1 ? (result.partsWaitMs ?? 0) : 0;
      return { parentId: row.id, splitPath, retryKey: retryKey({ ...sendOf(row), splitPath }), body, waitMs };
    });
  });
}

/** Of a row that moved, what {@link insertParts} reads. */
export const MOVED_COLUMNS = sql`
  delivery.id, delivery.status, delivery.organization_id, delivery.line_oa_id, delivery.kind, delivery.logical_id, delivery.epoch,
  delivery.endpoint, delivery.ordinal, delivery.campaign_id, delivery.chunk_no, delivery.deliver_until, delivery.traceparent`;

/**
 * A part of the statement that settles: none -> planned, for the parts of what stands in `moved` as split. So there are parts
 * if their request has ended, and never without.
 */
export const insertParts = (parts: readonly Part[]): SQL => {
  const col = (read: (part: Part) => string | number, type: 'bigint' | 'uuid' | 'text' | 'integer') =>
    column(parts.map(read), type);
  return sql`, planted as (
      insert into delivery (organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, split_path, campaign_id, chunk_no,
                            retry_key, body, body_sha256, next_attempt_at, deliver_until, traceparent)
      select organization_id, line_oa_id, kind, logical_id, epoch, endpoint, ordinal, part.split_path, campaign_id, chunk_no,
             part.retry_key, part.body, encode(sha256(convert_to(part.body, 'UTF8')), 'hex'),
             app_now() + make_interval(secs => part.wait_ms / 1000.0), deliver_until, traceparent
        from unnest(${col(({ parentId }) => parentId, 'bigint')}, ${col(({ splitPath }) => splitPath, 'text')},
                    ${col((part) => part.retryKey, 'uuid')}, ${col(({ body }) => body, 'text')},
                    ${col(({ waitMs }) => waitMs, 'integer')})
               as part (parent_id, split_path, retry_key, body, wait_ms)
        join moved on moved.id = part.parent_id and moved.status = 'split'
       order by moved.id, part.split_path
          on conflict do nothing
    )`;
};

/** The people of a stored multicast, and the whole request. */
function parse(body: string): { readonly to: readonly string[]; readonly request: object } {
  const request: { to?: unknown } = JSON.parse(body);
  const { to } = request;
  return { to: Array.isArray(to) ? to.filter((id) => typeof id === 'string') : [], request };
}
