import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction, sql, type Tx, ticketRows } from '@dueline/db';
import type { MenuEndpoint } from './retry-key.ts';
import { type Start, type StartedDelivery, startRows } from './start.ts';

/** A switch of a menu that this process owns, and what earlier requests mean for it. */
export interface StartedMenu extends StartedDelivery {
  readonly endpoint: MenuEndpoint;
  /**
   * LINE's id of the request that took the switch without a proof that it stays: LINE is to be asked what it shows. Null: there is
   * none, LINE is to be asked for the switch.
   */
  readonly toVerify: string | null;
  /** A request for an older wish of this person may still arrive: LINE's answer to the switch is not the last word. */
  readonly overtakable: boolean;
}

/** How many older wishes of a person are looked at: more are not asked for within the time in which a request may arrive late. */
const OLDER_WISHES = 100;
/** Until a person's wish is looked at again while another one of theirs is being asked for, in seconds of product time. */
const IN_FLIGHT_SECONDS = 1;
/** The same while an older request, which LINE may have got, may still arrive there. */
const LATE_SECONDS = 5;

type MenuRow = { id: string; fence: string; to_verify: string | null; may_arrive: boolean; waits: boolean };

/**
 * planned -> sending for switches of menus, as startDeliveries does for messages, but in the order of their wishes: a person's last wish
 * alone is started, and only while LINE is asked for no other one of theirs; what a newer wish overtook is `cancelled` (`superseded`). What waits for
 * another request, or for the time in which an older one may still arrive, is planned for later.
 *
 * @throws TransientError when the database was not ready.
 */
export function startMenuDeliveries(
  db: Db,
  tenant: Tenant,
  { tickets, start }: { tickets: readonly Ticket[]; start: Start },
): Promise<StartedMenu[]> {
  return inTransaction(db, async (tx) => {
    // A statement of its own, so that what follows sees what whoever it waited for started or wished.
    const { rowCount } = await tx.execute(sql`
      select from user_rich_menu
       where (line_oa_id, user_id) in (select line_oa_id, user_id from rich_menu_wish as wish
                                         join ${ticketRows(tickets)} on ticket.id = wish.delivery_id)
         and line_oa_id = ${tenant.lineOaId} and organization_id = ${tenant.organizationId}
       order by line_oa_id, user_id
         for no key update`);
    if (rowCount === 0) return [];
    await cancelSuperseded(tx, tickets);
    const menus = new Map((await readMenus(tx, { tickets, start })).map((row) => [row.id, row]));
    const ready = [...menus.values()].filter(({ waits }) => !waits);
    const started = await startRows(tx, tenant, { tickets: ready, start, isChosen: sql`true` });
    return started.map((delivery) => asMenu(delivery, menus.get(delivery.id)));
  });
}

async function cancelSuperseded(tx: Tx, tickets: readonly Ticket[]): Promise<void> {
  await tx.execute(sql`
    with superseded as materialized (
      select delivery.id
        from delivery
        join ${ticketRows(tickets)} on ticket.id = delivery.id and ticket.fence = delivery.fence
        join rich_menu_wish as wish on wish.delivery_id = delivery.id
        join user_rich_menu as person on (person.line_oa_id, person.user_id) = (wish.line_oa_id, wish.user_id)
       where delivery.status = 'planned' and wish.action_seq < person.action_seq
       order by delivery.id
         for no key update of delivery
    )
    update delivery
       set status = 'cancelled', fence = delivery.fence + 1, reason_code = 'superseded', updated_date = clock_timestamp()
     where id = any(array(select id from superseded))`);
}

/** The last wishes among these, what is known of other requests for their people, and which of them wait: those are planned for later. */
async function readMenus(tx: Tx, { tickets, start }: { tickets: readonly Ticket[]; start: Start }): Promise<MenuRow[]> {
  const { rows } = await tx.execute<MenuRow>(sql`
    with menu as materialized (
      select delivery.id, delivery.fence, last_attempt.request_id as to_verify, coalesce(older.is_sending, false) as is_sending,
             coalesce(older.may_arrive, false) as may_arrive
        from delivery
        join ${ticketRows(tickets)} on ticket.id = delivery.id and ticket.fence = delivery.fence
        join rich_menu_wish as wish on wish.delivery_id = delivery.id
        left join lateral (
          select attempt.line_request_id as request_id
            from (select * from delivery_attempt where delivery_id = delivery.id order by attempt_no desc limit 1) as attempt
           where attempt.outcome = 'ambiguous' and attempt.http_status in (200, 202)) as last_attempt on true
       cross join lateral (
         select bool_or(other.status = 'sending') as is_sending,
                bool_or((attempt.outcome is null or attempt.outcome = 'ambiguous')
                  and attempt.started_at > clock_timestamp() - make_interval(secs => ${start.settleSeconds})) as may_arrive
           from (select delivery_id from rich_menu_wish
                  where line_oa_id = wish.line_oa_id and user_id = wish.user_id and action_seq < wish.action_seq
                  order by action_seq desc limit ${OLDER_WISHES}) as earlier
           join delivery as other on other.id = earlier.delivery_id
           left join delivery_attempt as attempt on attempt.delivery_id = other.id) as older
       where delivery.status = 'planned' and delivery.next_attempt_at <= app_now()
    ), judged as (
      select *, is_sending or (to_verify is not null and may_arrive) as waits from menu
    ), waiting as (
      update delivery
         set next_attempt_at = app_now() + make_interval(secs => case when is_sending then ${IN_FLIGHT_SECONDS}::float8 else ${LATE_SECONDS}::float8 end),
             published_at = null, announce_count = 0, updated_date = clock_timestamp()
        from judged where judged.id = delivery.id and judged.waits and delivery.status = 'planned'
    )
    select id, fence, to_verify, may_arrive, waits from judged order by id`);
  return rows;
}

function asMenu(delivery: StartedDelivery, row: MenuRow | undefined): StartedMenu {
  const { endpoint } = delivery;
  if (row === undefined || (endpoint !== 'richmenu_link' && endpoint !== 'richmenu_unlink')) {
    throw new Error(`delivery ${delivery.id} is no switch of a menu`);
  }
  // What an earlier attempt left open, a refusal closes: the menu or the person that LINE does not have now, it does not show.
  return { ...delivery, endpoint, verdict: 'clean', toVerify: row.to_verify, overtakable: row.may_arrive };
}
