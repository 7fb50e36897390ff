import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { Stack } from '@dueline/demo';

/** The menu to which the rules switch, as LINE names it. */
export const MENU = 'richmenu-chaos';
const AT_ONCE = 20;

/** Registers the menu. @returns Its id. */
export async function registerMenu(db: Db, { organizationId, lineOaId }: Tenant): Promise<string> {
  const { rows } = await db.$client.query<{ id: string }>(
    'insert into rich_menu (organization_id, line_oa_id, name, line_rich_menu_id) values ($1, $2, $3, $3) returning id',
    [organizationId, lineOaId, MENU],
  );
  return rows[0]?.id ?? '';
}

/** Friends of whom the product says that LINE shows them the menu, and it does not. To be asked when LINE is well. */
export async function withoutTheirMenu(
  { database: { db }, line }: Pick<Stack, 'database' | 'line'>,
  channelAccessToken: string,
): Promise<string[]> {
  const { rows } = await db.$client.query<{ user: string }>(
    `select distinct user_id as "user" from delivery where endpoint = 'richmenu_link' and status = 'accepted' order by 1`,
  );
  const get = (path: string) =>
    fetch(new URL(path, line.apiUrl), { headers: { authorization: `Bearer ${channelAccessToken}` } });
  const isWithout = async ({ user }: { user: string }): Promise<boolean> => {
    const shown = await get(`/v2/bot/user/${user}/richmenu`);
    const { richMenuId } = (await shown.json()) as { richMenuId?: string };
    if (richMenuId === MENU) return false;
    const profile = await get(`/v2/bot/profile/${user}`); // LINE shows a menu to friends only, and says so to nobody
    await profile.body?.cancel();
    return profile.status === 200;
  };
  const found: string[] = [];
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const some = rows.slice(from, from + AT_ONCE);
    const without = await Promise.all(some.map(isWithout));
    found.push(...some.filter((_, at) => without[at]).map(({ user }) => user));
  }
  return found;
}
