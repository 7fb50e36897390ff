export { getLineUsers, type LineUser, type LineUserKey, lineUserKey } from './line-user.ts';
