export { createRichMenu, deleteRichMenu, listRichMenus, type RichMenu, type RichMenuDraft } from './author.ts';
export { holdRichMenus, type RichMenuAtLine, type RichMenuRef } from './hold.ts';
export { RICH_MENU_INVARIANTS } from './invariants.ts';
export { getUserRichMenu, type UserRichMenu } from './user-rich-menu.ts';
export { type RichMenuWish, wishRichMenus } from './wish.ts';
