export { getChannelAccessToken, loadChannelIds } from './channel.ts';
export { createLineOa, createOrganization } from './create.ts';
export { type Deed, recordDeed } from './deed.ts';
export { type AccountName, listAccounts } from './list.ts';
export { openSecret, sealSecret } from './secrets.ts';
export {
  getStop,
  RESUME_HOW,
  type ResumeHow,
  resumeAccount,
  type Signed,
  type StopTarget,
  stopAccount,
} from './stop.ts';
