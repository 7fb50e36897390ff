import type { Job } from './peer.ts';

/** What a job carries: one action that sends a text and a flex message, about 500 bytes of JSON. */
export interface Payload extends Job {
  readonly type: 'send_message';
  readonly userId: string;
  readonly messages: readonly { readonly type: 'text' | 'flex'; readonly [part: string]: string }[];
}

const TEXT = 'Your voucher waits for you until Sunday evening. '.repeat(3).trim();
const DIGITS_OF_FLEX = 150;
const KNUTH = 2_654_435_761;

/** The same for the same job, and unlike that of any other: compression must not make one peer look better. */
export function payloadOf({ n, dueAt }: Job): Payload {
  let contents = '';
  for (let state = n; contents.length < DIGITS_OF_FLEX; ) {
    state = (Math.imul(state, KNUTH) + 12_345) >>> 0;
    contents += state.toString(36);
  }
  return {
    ...{ n, dueAt, type: 'send_message', userId: userIdOf(n) },
    messages: [
      { type: 'text', text: TEXT },
      { type: 'flex', altText: `Voucher ${n}`, contents: contents.slice(0, DIGITS_OF_FLEX) },
    ],
  };
}

/** LINE's form of an id: U and 32 digits. Neighbours in time lie far apart in an index, as people do. */
const userIdOf = (n: number): string =>
  `U${(Math.imul(n, KNUTH) >>> 0).toString(16).padStart(8, '0')}${n.toString(16).padStart(24, '0')}`;
