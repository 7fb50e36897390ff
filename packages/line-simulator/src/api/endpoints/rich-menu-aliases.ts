import { type Answer, badBody, channelOf, type Endpoint, type Exchange, failure } from '../exchange.ts';

const one = { limit: { count: 2_000, perMs: 1_000 }, isSend: false } as const;
const OK: Answer = { status: 200, body: {} };
const ALIAS = '/v2/bot/richmenu/alias/:richMenuAliasId';
const ALIAS_ID = /^[a-z0-9_-]{1,32}$/;

/** Names for menus, which a menu's own buttons switch by. */
export const RICH_MENU_ALIAS_ENDPOINTS: readonly Endpoint[] = [
  {
    ...one,
    method: 'POST',
    key: 'richmenu/alias/create',
    path: '/v2/bot/richmenu/alias',
    body: 'json',
    validate(exchange) {
      const { richMenuAliasId } = exchange.body ?? {};
      if (typeof richMenuAliasId !== 'string' || !ALIAS_ID.test(richMenuAliasId)) {
        return badBody([{ message: 'invalid richMenuAliasId', property: 'richMenuAliasId' }]);
      }
      const { aliases } = channelOf(exchange).richMenus;
      return aliases.has(richMenuAliasId) ? failure(400, 'conflict richmenu alias id') : validateMenu(exchange);
    },
    answer: (exchange) => set(exchange, String(exchange.body?.richMenuAliasId)),
  },
  {
    ...one,
    method: 'GET',
    key: 'richmenu/alias/list',
    path: '/v2/bot/richmenu/alias/list',
    body: 'none',
    answer(exchange) {
      const aliases = [...channelOf(exchange).richMenus.aliases];
      return {
        status: 200,
        body: { aliases: aliases.map(([richMenuAliasId, richMenuId]) => ({ richMenuAliasId, richMenuId })) },
      };
    },
  },
  {
    ...one,
    method: 'GET',
    key: 'richmenu/alias/get',
    path: ALIAS,
    body: 'none',
    validate: mustExist,
    answer(exchange) {
      const { richMenuAliasId = '' } = exchange.params;
      const richMenuId = channelOf(exchange).richMenus.aliases.get(richMenuAliasId);
      return { status: 200, body: { richMenuAliasId, richMenuId } };
    },
  },
  {
    ...one,
    method: 'POST',
    key: 'richmenu/alias/update',
    path: ALIAS,
    body: 'json',
    validate: (exchange) => mustExist(exchange) ?? validateMenu(exchange),
    answer: (exchange) => set(exchange, exchange.params.richMenuAliasId ?? ''),
  },
  {
    ...one,
    method: 'DELETE',
    key: 'richmenu/alias/delete',
    path: ALIAS,
    body: 'none',
    validate: mustExist,
    answer(exchange) {
      channelOf(exchange).richMenus.aliases.delete(exchange.params.richMenuAliasId ?? '');
      return OK;
    },
  },
];

function set(exchange: Exchange, richMenuAliasId: string): Answer {
  channelOf(exchange).richMenus.aliases.set(richMenuAliasId, String(exchange.body?.richMenuId));
  return OK;
}

function mustExist(exchange: Exchange): Answer | undefined {
  const { aliases } = channelOf(exchange).richMenus;
  return aliases.has(exchange.params.richMenuAliasId ?? '') ? undefined : failure(404, 'richmenu alias not found');
}

function validateMenu(exchange: Exchange): Answer | undefined {
  const { richMenuId } = exchange.body ?? {};
  const { richMenus } = channelOf(exchange);
  if (typeof richMenuId !== 'string') return badBody([{ message: 'invalid richMenuId', property: 'richMenuId' }]);
  return richMenus.has(richMenuId) ? undefined : failure(400, 'richmenu not found');
}
