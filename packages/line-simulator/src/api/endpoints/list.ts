import type { Endpoint } from '../exchange.ts';
import { ACCOUNT_ENDPOINTS } from './account.ts';
import { AUDIENCE_ENDPOINTS } from './audiences.ts';
import { NARROWCAST_ENDPOINT, NARROWCAST_PROGRESS_ENDPOINT } from './narrowcast.ts';
import { REPLY_ENDPOINT } from './reply.ts';
import { RICH_MENU_ALIAS_ENDPOINTS } from './rich-menu-aliases.ts';
import { RICH_MENU_BATCH_ENDPOINTS } from './rich-menu-batch.ts';
import { RICH_MENU_LINK_ENDPOINTS } from './rich-menu-links.ts';
import { RICH_MENU_ENDPOINTS } from './rich-menus.ts';
import { SEND_ENDPOINTS } from './send.ts';
import { TOKEN_ENDPOINTS } from './tokens.ts';
import { UNIT_ENDPOINTS } from './units.ts';
import { USER_ENDPOINTS } from './users.ts';
import { VALIDATE_ENDPOINTS } from './validate.ts';

/** Every operation that is played. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...SEND_ENDPOINTS,
  NARROWCAST_ENDPOINT,
  NARROWCAST_PROGRESS_ENDPOINT,
  REPLY_ENDPOINT,
  ...VALIDATE_ENDPOINTS,
  ...ACCOUNT_ENDPOINTS,
  ...USER_ENDPOINTS,
  ...RICH_MENU_ENDPOINTS,
  ...RICH_MENU_ALIAS_ENDPOINTS,
  ...RICH_MENU_LINK_ENDPOINTS,
  ...RICH_MENU_BATCH_ENDPOINTS,
  ...AUDIENCE_ENDPOINTS,
  ...UNIT_ENDPOINTS,
  ...TOKEN_ENDPOINTS,
];
