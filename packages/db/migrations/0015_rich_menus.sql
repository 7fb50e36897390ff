-- Which rich menus an account has at LINE, which of them each person shall see, and the wishes that led there.
create table rich_menu (
  id bigint generated always as identity primary key,
  organization_id bigint not null,
  line_oa_id bigint not null,
  name text not null,
  line_rich_menu_id text collate "C" not null,
  created_date timestamptz not null default app_now(),
  updated_date timestamptz not null default app_now(),
  deleted_date timestamptz,
  constraint rich_menu_tenant_key unique (organization_id, line_oa_id, id),
  constraint rich_menu_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id)
);
-- one row for a menu at LINE
create unique index rich_menu_line_key on rich_menu (line_oa_id, line_rich_menu_id) where deleted_date is null;

-- The last wish of each person: its number grows with every wish. Whoever asks LINE for a menu of theirs holds this row first, so that
-- there is one at a time. Null: no menu of their own.
create table user_rich_menu (
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  organization_id bigint not null,
  rich_menu_id bigint,
  action_seq bigint not null constraint user_rich_menu_seq_from_one check (action_seq > 0),
  updated_date timestamptz not null default app_now(),
  primary key (line_oa_id, user_id),
  constraint user_rich_menu_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id),
  constraint user_rich_menu_menu_fkey foreign key (organization_id, line_oa_id, rich_menu_id)
    references rich_menu (organization_id, line_oa_id, id)
) with (fillfactor = 80);
-- Every wish, with the request to LINE that carries it. Its primary key is also the way from a person to what was wished before.
create table rich_menu_wish (
  line_oa_id bigint not null,
  user_id text collate "C" not null,
  action_seq bigint not null,
  organization_id bigint not null,
  rich_menu_id bigint,
  delivery_id bigint not null references delivery (id),
  created_date timestamptz not null default app_now(),
  primary key (line_oa_id, user_id, action_seq),
  constraint rich_menu_wish_delivery_key unique (delivery_id),
  constraint rich_menu_wish_tenant_fkey foreign key (organization_id, line_oa_id) references line_oa (organization_id, id),
  constraint rich_menu_wish_menu_fkey foreign key (organization_id, line_oa_id, rich_menu_id)
    references rich_menu (organization_id, line_oa_id, id)
);
create trigger rich_menu_wish_is_fixed before update on rich_menu_wish for each row
  execute function refuse_change('a wish is history: its number says what came after what');

call isolate_tenants('rich_menu', 'user_rich_menu', 'rich_menu_wish');
-- Only decisions wish.
revoke insert, update, delete on user_rich_menu, rich_menu_wish from dueline_tenant;
