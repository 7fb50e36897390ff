export {
  BREAKER_LIMITS,
  type BreakerLimits,
  closeBreaker,
  loadBreakers,
  type NotedRefusal,
  noteRefusal,
  takeBreakerProbe,
} from './breaker.ts';
export {
  type ChannelCredentials,
  type CredentialsToStore,
  getChannelCredentials,
  type IssuedTokenKind,
  loadChannelIds,
  storeChannelCredentials,
} from './channel.ts';
export { createLineOa, createOrganization } from './create.ts';
export { type Deed, listDeeds, type PastDeed, recordDeed } from './deed.ts';
export { ACCOUNT_INVARIANTS } from './invariants.ts';
export { type AccountName, type AccountState, listAccountStates, listAccounts } from './list.ts';
export { isMonthTold, type MonthTold, recordMonth, takeWantedMonths, wantMonth } from './month.ts';
export { type Pause, type PauseReason, pauseAccount, type Shortage, unpauseAccount } from './pause.ts';
export { type PausedAccount, takePausedAccounts } from './paused.ts';
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
export { forgetThrottled, noteThrottled } from './throttled.ts';
export { getWebhookSecret, renewWebhookSecret } from './webhook-secret.ts';
