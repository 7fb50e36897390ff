import { type Invariant, sql } from '@dueline/db';

/** What must be true of wishes for menus. */
export const RICH_MENU_INVARIANTS: readonly Invariant[] = [
  {
    id: 'I31.wish',
    says: 'the menu that a person shall see is their last wish, and wishes are numbered without a gap',
    offending: () => sql`
      select format('person %s of account %s: shall see %s by wish %s; the last of %s is %s for %s', person.user_id, person.line_oa_id,
                    coalesce(person.rich_menu_id::text, 'none'), person.action_seq, wishes.count, wishes.last,
                    coalesce(wish.rich_menu_id::text, 'none')) as what
        from user_rich_menu as person
        left join (select line_oa_id, user_id, count(*) as count, max(action_seq) as last from rich_menu_wish group by 1, 2) as wishes
             using (line_oa_id, user_id)
        left join rich_menu_wish as wish on (wish.line_oa_id, wish.user_id, wish.action_seq) = (person.line_oa_id, person.user_id, wishes.last)
       where wishes.last is distinct from person.action_seq or wishes.count <> person.action_seq
          or wish.rich_menu_id is distinct from person.rich_menu_id`,
  },
  {
    id: 'I31.request',
    says: 'a wish for a menu and the request that carries it are of one person, and every such request carries a wish',
    offending: ({ historyDays }) => sql`
      select format('delivery %s: %s for %s, wish %s of %s', delivery.id, endpoint, delivery.user_id, action_seq, wish.user_id) as what
        from delivery left join rich_menu_wish as wish on wish.delivery_id = delivery.id
       where delivery.created_date > app_now() - make_interval(days => ${historyDays})
         and ((endpoint in ('richmenu_link', 'richmenu_unlink')) <> (wish.delivery_id is not null)
              or wish.user_id <> delivery.user_id or wish.line_oa_id <> delivery.line_oa_id
              or (wish.delivery_id is not null and (endpoint = 'richmenu_unlink') <> (wish.rich_menu_id is null)))`,
  },
  {
    id: 'I31.order',
    says: 'LINE is never asked for an older wish of a person after it was asked for a newer one',
    offending: ({ historyDays }) => sql`
      with asked as (
        select wish.user_id, wish.action_seq, wish.delivery_id, attempt.started_at,
               lag(wish.action_seq) over (partition by wish.line_oa_id, wish.user_id order by attempt.started_at) as before
          from rich_menu_wish as wish join delivery_attempt as attempt using (delivery_id)
         where wish.created_date > app_now() - make_interval(days => ${historyDays})
      )
      select format('delivery %s: wish %s of %s asked for at %s, after wish %s', delivery_id, action_seq, user_id, started_at, before) as what
        from asked where before > action_seq`,
  },
];
