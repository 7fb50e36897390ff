import type { RuleDraft } from '@dueline/trigger-rules';
import type { Waits } from './judge.ts';
import { ACCOUNTS, type Act, type Expectation, type Happening, marked, type Users } from './story.ts';

/** Days in which a click counts. */
const DAYS = 3;
const SECONDS_PER_DAY = 86_400;

/** Users of every account who get an invitation with a link. */
export const INVITED: Users = { first: 700, count: 20 };
/** Of those, the ones who click in time; the others click when it is over. */
const CLICKERS: Users = { first: INVITED.first, count: 8 };
export const LATECOMERS: Users = { first: CLICKERS.first + CLICKERS.count, count: INVITED.count - CLICKERS.count };

/** Each account has these rules, too. */
export const WAITING_RULES: readonly RuleDraft[] = [
  {
    name: 'Invited: the link, at once',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'invited', to: 'yes' },
    actionType: 'send_message',
    actionConfig: { messages: [marked('You are invited: have a look at our new menu 📖', 'invitation')] },
    frequency: 'once',
  },
  {
    name: `Invited: a reward for who clicks within ${DAYS} days, a last call for who does not`,
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'invited', to: 'yes' },
    actionType: 'send_message',
    actionConfig: {
      messages: [marked('Thank you for looking! A drink is on us 🥤', 'reward')],
      delay: {
        mode: 'waitForTracking',
        expiresSeconds: DAYS * SECONDS_PER_DAY,
        onExpired: { do: 'instead', messages: [marked('Last call: the new menu, until Sunday ⏳', 'last-call')] },
      },
    },
    frequency: 'once',
  },
];

/** What happens, with jumps of the time machine in between. */
export const INVITE: Act = {
  atMs: 0,
  users: INVITED,
  set: { invited: 'yes' },
  tell: `${INVITED.count} users of each account are invited, and have ${DAYS} days to click`,
};
export const CLICK: Happening = { users: CLICKERS, tell: `${CLICKERS.count} of them, of each account, click the link` };
export const LATE_CLICK: Happening = {
  users: LATECOMERS,
  tell: `the other ${LATECOMERS.count} of each account click, too late`,
};

/** Seconds to jump: to the clicks, then past the deadline. */
export const TO_CLICKS = SECONDS_PER_DAY;
export const PAST_DEADLINE = (DAYS - 1) * SECONDS_PER_DAY;

/** What each user of a group must receive, once. */
export const WAITING_EXPECTATIONS: readonly Expectation[] = [
  { act: INVITE, users: INVITED, lid: 'invitation', delaySeconds: 0 },
  { act: CLICK, users: CLICKERS, lid: 'reward', delaySeconds: 0 },
  { act: INVITE, users: LATECOMERS, lid: 'last-call', delaySeconds: DAYS * SECONDS_PER_DAY },
];

/** What trigger_log must say of the waits. */
export const WAITS_PLANNED: Waits = {
  unlocked: ACCOUNTS.length * CLICKERS.count,
  expired: ACCOUNTS.length * LATECOMERS.count,
  late: ACCOUNTS.length * LATECOMERS.count,
};
