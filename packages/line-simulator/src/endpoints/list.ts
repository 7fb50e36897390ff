import type { Endpoint } from '../exchange.ts';
import { ACCOUNT_ENDPOINTS } from './account.ts';
import { REPLY_ENDPOINT } from './reply.ts';
import { RICH_MENU_LINK_ENDPOINTS } from './rich-menu-links.ts';
import { SEND_ENDPOINTS } from './send.ts';
import { TOKEN_ENDPOINTS } from './tokens.ts';
import { USER_ENDPOINTS } from './users.ts';
import { VALIDATE_ENDPOINTS } from './validate.ts';

/** Every operation that is played. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...SEND_ENDPOINTS,
  REPLY_ENDPOINT,
  ...VALIDATE_ENDPOINTS,
  ...ACCOUNT_ENDPOINTS,
  ...USER_ENDPOINTS,
  ...RICH_MENU_LINK_ENDPOINTS,
  ...TOKEN_ENDPOINTS,
];
