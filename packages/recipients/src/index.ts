export { type AttributeToSet, type Cause, setAttributes } from './attributes.ts';
export {
  type AudienceKey,
  addAudienceMembers,
  changeMembership,
  createAudience,
  holdAudiences,
  type MembershipChange,
} from './audience.ts';
export { type BookingReport, cancelBooking, createBooking, moveBooking } from './booking.ts';
export { type CustomEvent, recordCustomEvent } from './custom-event.ts';
export { type EventDetails, loadEventDetails, loadMoreOfEvents } from './event-details.ts';
export { createForm, type FormSubmission, submitForm } from './form.ts';
export { type FriendEvent, recordFriendEvent, updateFollowing } from './friend.ts';
export { getLineUsers, type LineUser, type LineUserKey, lineUserKey, pageOfUsers } from './line-user.ts';
export { loadMemberships, type Membership, membershipKey } from './membership.ts';
