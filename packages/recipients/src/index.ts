export { addAudienceMembers, createAudience } from './audience.ts';
export { getLineUsers, type LineUser, type LineUserKey, lineUserKey } from './line-user.ts';
