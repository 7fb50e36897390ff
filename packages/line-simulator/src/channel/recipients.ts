import { isFields } from '../fields.ts';
import type { Channel } from './channels.ts';

type Test = (user: number) => boolean;

/** Tells whom a narrowcast's recipient object names; everyone, if there is none. Undefined if it is not well formed. */
export function recipientOf(channel: Channel, recipient: unknown): Test | undefined {
  if (recipient === undefined || recipient === null) return () => true;
  if (!isFields(recipient)) return undefined;
  switch (recipient.type) {
    case 'audience': {
      const audience = channel.audiences.all.get(Number(recipient.audienceGroupId));
      return audience === undefined ? undefined : (user) => audience.members.has(user);
    }
    case 'redelivery': {
      const earlier = channel.narrowcasts.get(String(recipient.requestId));
      const reached = new Set(earlier?.users);
      return earlier === undefined ? undefined : (user) => reached.has(user);
    }
    case 'operator':
      return operatorOf(channel, recipient);
    default:
      return undefined;
  }
}

function operatorOf(
  channel: Channel,
  { and, or, not }: { readonly and?: unknown; readonly or?: unknown; readonly not?: unknown },
): Test | undefined {
  const tests = [and, or].filter(Array.isArray).map((list) => testsOf(channel, list));
  const [only] = tests;
  if (not !== undefined && tests.length === 0) {
    const test = recipientOf(channel, not);
    return test === undefined ? undefined : (user) => !test(user);
  }
  if (not !== undefined || tests.length !== 1 || only === undefined) return undefined;
  return Array.isArray(and) ? (user) => only.every((test) => test(user)) : (user) => only.some((test) => test(user));
}

/** Undefined for an empty list, and if one of it is not well formed. */
function testsOf(channel: Channel, list: readonly unknown[]): Test[] | undefined {
  const tests = list.map((entry) => recipientOf(channel, entry));
  const formed = tests.filter((test) => test !== undefined);
  return formed.length === tests.length && tests.length > 0 ? formed : undefined;
}
