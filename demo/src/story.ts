import { CAST_TYPE, type CastType } from '@dueline/contracts';
import type { RuleDraft } from '@dueline/trigger-rules';

/** Users of an account by their number, from `first` on. */
export interface Users {
  readonly first: number;
  readonly count: number;
}

/** Something that happens to users of every account: one plain UPDATE of their attributes. */
export interface Act {
  /** Milliseconds after the story begins. */
  readonly atMs: number;
  readonly users: Users;
  readonly set: Readonly<Record<string, string>>;
  readonly tell: string;
}

/** What each user of a group must receive, once, because of an act or of what they did. */
export interface Expectation {
  readonly act: Act | Happening;
  readonly users: Users;
  /** Marks the message, so that LINE's side can be asked for it. */
  readonly lid: string;
  /** Not before this many seconds after the act; 0 means at once. */
  readonly delaySeconds: number;
}

export interface Account {
  readonly organization: string;
  readonly name: string;
  readonly channelId: string;
  readonly timezone: string;
  /** Hex digits that its users' ids begin with. */
  readonly userPrefix: string;
  readonly userCount: number;
}

export const ACCOUNTS: readonly Account[] = [
  {
    organization: 'さくら珈琲',
    name: 'さくら珈琲 新宿',
    channelId: '2000000001',
    timezone: 'Asia/Tokyo',
    userPrefix: 'a1',
    userCount: 1_000,
  },
  {
    organization: 'ร้านหนังสือกรุงเทพ',
    name: 'Bangkok Books',
    channelId: '2000000002',
    timezone: 'Asia/Bangkok',
    userPrefix: 'b2',
    userCount: 1_000,
  },
];

/** One message to all friends of an account of its own, or to an audience of all its users. */
export interface StoryCampaign {
  readonly account: Account;
  readonly castType: CastType;
  /** Its time, in seconds after the story begins. */
  readonly startSeconds: number;
  readonly lid: string;
  readonly text: string;
  readonly tell: string;
}

/** People of every account do something. */
export interface Happening {
  readonly users: Users;
  readonly tell: string;
}

/** What messages follow from. */
export type Cause = Act | StoryCampaign | Happening;

/** A text that LINE's side can be asked for by its mark. */
export const marked = (text: string, lid: string) => ({ type: 'text' as const, text: `${text} [[lid:${lid}]]` });
const DELAY_SECONDS = 2;

/** Each account has these rules. */
export const RULES: readonly RuleDraft<'send_message'>[] = [
  {
    name: 'Gold at last: the voucher, at once',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'tier', to: 'gold' },
    actionType: 'send_message',
    actionConfig: { messages: [marked('Welcome to Gold! Here is your voucher 🎁', 'gold-voucher')] },
    frequency: 'once',
  },
  {
    name: 'Gold at last: the tips, two seconds later',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'tier', to: 'gold' },
    actionType: 'send_message',
    actionConfig: {
      messages: [marked('Three things Gold members love ☕', 'gold-tips')],
      delay: { seconds: DELAY_SECONDS },
    },
    frequency: 'once',
  },
  {
    name: 'Full cart: a reminder two seconds later, unless they paid',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'cart', to: 'full' },
    actionType: 'send_message',
    actionConfig: {
      messages: [marked('Still thinking? Your cart is waiting 🛒', 'cart-reminder')],
      delay: { seconds: DELAY_SECONDS, reEvaluateConditions: true },
    },
  },
];

const WAVES = 12;
const USERS_PER_WAVE = 10;
const goldWaves: readonly Act[] = Array.from({ length: WAVES }, (_, wave) => ({
  atMs: 300 + wave * 225, // so that what a wave made wait does not come due just as another one begins
  users: { first: wave * USERS_PER_WAVE, count: USERS_PER_WAVE },
  set: { tier: 'gold' },
  tell: `${USERS_PER_WAVE} users of each account become Gold`,
}));
const cartsFilled: Act = {
  atMs: 800,
  users: { first: 300, count: 45 },
  set: { cart: 'full' },
  tell: '45 users of each account fill their cart',
};
const cartsPaid: Act = {
  atMs: 1_600,
  users: { first: 300, count: 30 },
  set: { cart: 'paid' },
  tell: '30 of them, of each account, pay within the two seconds',
};
const silver: Act = {
  atMs: 1_900,
  users: { first: 500, count: 25 },
  set: { tier: 'silver' },
  tell: '25 users of each account become Silver, which no rule waits for',
};

export const ACTS: readonly Act[] = [...goldWaves, cartsFilled, cartsPaid, silver].sort((a, b) => a.atMs - b.atMs);

export const EXPECTATIONS: readonly Expectation[] = [
  ...goldWaves.map((act) => ({ act, users: act.users, lid: 'gold-voucher', delaySeconds: 0 })),
  ...goldWaves.map((act) => ({ act, users: act.users, lid: 'gold-tips', delaySeconds: DELAY_SECONDS })),
  { act: cartsFilled, users: { first: 330, count: 15 }, lid: 'cart-reminder', delaySeconds: DELAY_SECONDS },
];

/** Reminders that must be cancelled when they come due, per account. */
export const CANCELLED_PER_ACCOUNT = cartsPaid.users.count;

const CAMPAIGN_START_SECONDS = 6;

export const CAMPAIGNS: readonly StoryCampaign[] = [
  {
    account: {
      organization: '大阪たこ焼き',
      name: '大阪たこ焼き 本店',
      channelId: '2000000003',
      timezone: 'Asia/Tokyo',
      userPrefix: 'c3',
      userCount: 5_000,
    },
    castType: CAST_TYPE.broadcast,
    startSeconds: CAMPAIGN_START_SECONDS,
    lid: 'broadcast',
    text: 'The new season begins today 🐙 [[lid:broadcast]]',
    tell: `a broadcast to 5,000 friends is scheduled for ${CAMPAIGN_START_SECONDS} seconds from now`,
  },
  {
    account: {
      organization: 'ตลาดเชียงใหม่',
      name: 'Chiang Mai Market',
      channelId: '2000000004',
      timezone: 'Asia/Bangkok',
      userPrefix: 'd4',
      userCount: 2_500,
    },
    castType: CAST_TYPE.multicast,
    startSeconds: CAMPAIGN_START_SECONDS,
    lid: 'multicast',
    text: 'For those who love mangoes 🥭 [[lid:multicast]]',
    tell: `a multicast to an audience of 2,500 is scheduled for ${CAMPAIGN_START_SECONDS} seconds from now`,
  },
];

/** Every account, as LINE knows them. */
export const ALL_ACCOUNTS: readonly Account[] = [...ACCOUNTS, ...CAMPAIGNS.map(({ account }) => account)];
