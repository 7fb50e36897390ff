import type { Log } from './log.ts';

/**
 * Every place where a kill is worth a test, by what has happened when it is reached. An app reaches a point only when there
 * is work; the end-to-end tests kill at each.
 */
export const CRASH_POINTS = {
  'announce_event.claimed': 'events are published in the database, none of their tickets is with the broker',
  'announce_event.written': 'the tickets were written to the socket; whether the broker has them is not known',
  'announce_event.published': 'the broker has confirmed the tickets of events',
  'decide_event.deciding': 'the transaction that decides events has written everything and is not committed',
  'decide_event.committed': 'events are decided, their deliveries are not handed over',
  'decide_event.handled': 'events are decided and handed over, their message is not acknowledged',
  'process_event.deciding': 'the transaction that takes events and decides them is not committed',
  'process_event.committed': 'events are taken and decided, their deliveries are not handed over',
  'announce_action.claimed': 'due actions are claimed for the queue, none of their tickets is with the broker',
  'announce_action.written': 'the tickets were written to the socket; whether the broker has them is not known',
  'announce_action.published': 'the broker has confirmed the tickets of due actions',
  'fire_action.deciding': 'the transaction that decides announced actions has written everything and is not committed',
  'fire_action.committed': 'announced actions are decided, their deliveries are not handed over',
  'fire_action.handled': 'announced actions are decided and handed over, their message is not acknowledged',
  'process_due.deciding': 'the transaction that claims and decides due actions is not committed',
  'process_due.committed': 'due actions are claimed and decided, their deliveries are not handed over',
  'enrol.deciding':
    'the transaction that lets a page of people enter a rule has written everything and is not committed',
  'hand_over.written':
    'the tickets of new deliveries were written to the socket; whether the broker has them is not known',
  'announce_delivery.claimed': 'deliveries count as announced, none of their tickets is with the broker',
  'announce_delivery.written': 'the tickets were written to the socket; whether the broker has them is not known',
  'announce_delivery.published': 'the broker has confirmed the tickets of deliveries',
  'send.started': 'deliveries are owned and their attempts written ahead, nothing was sent',
  'send.answered': 'LINE has answered, the verdict is not written',
  'send.settled': 'the verdict is written, the slot is not free yet',
  'webhook.started': 'a webhook is owned and its attempt written ahead, nothing was sent',
  'webhook.answered': 'the receiver of a webhook has answered, the verdict is not written',
  'tick_campaign.keyed': 'the tick has its key in Redis, so that no other replica publishes it; nor has this one yet',
  'tick_campaign.written': 'the tick was written to the socket; whether the broker has it is not known',
  'tick_campaign.published': 'the broker has confirmed the tick, nobody else knows that',
  'process_campaign.claimed': 'due campaigns are claimed, none of their tickets is with the broker',
  'process_campaign.written': 'tickets were written to the socket; whether the broker has them is not known',
  'process_campaign.published': 'the broker has confirmed the tickets of campaigns, the tick is not acknowledged',
  'start_campaign.freezing':
    'the transaction that starts a campaign and freezes its recipients has written everything and is not committed',
  'start_campaign.frozen': 'a campaign is started and frozen, none of the tickets of its chunks is with the broker',
  'start_campaign.written':
    'the tickets of its chunks were written to the socket; whether the broker has them is not known',
  'start_campaign.handled': 'a campaign is started and its chunks handed over, its ticket is not acknowledged',
  'close_campaign.beaten':
    'the verdict on a chunk has counted as a sign of life; whether it was the last was not asked',
  'close_campaign.closed': 'the last chunk has closed its campaign, the slot is not free yet',
  'open_cycle.opening': 'the transaction that opens cycles has written everything and is not committed',
  'open_cycle.opened': 'cycles are open, nobody was told of them',
  'announce_cycle.claimed': 'cycles count as announced, none of their tickets is with the broker',
  'announce_cycle.written': 'the tickets were written to the socket; whether the broker has them is not known',
  'announce_cycle.published': 'the broker has confirmed the tickets of cycles',
  'read_cycle.taken': 'a cycle has a reader, nobody of it is read',
  'read_cycle.reading': 'the transaction that reads a page and gives its people their actions is not committed',
  'read_cycle.committed': 'a page is committed, and more people are to be read',
  'read_cycle.handled': 'all people of a cycle are read, its ticket is not acknowledged',
  'count_cycle.counting': 'the transaction that completes cycles has written everything and is not committed',
} as const satisfies Readonly<Record<string, string>>;

export type CrashPoint = keyof typeof CRASH_POINTS;

/** Says that a point was reached. Returns unless the process was told to die there. */
export type Reach = (point: CrashPoint) => void;

/** `<point>[:<n>][=stop]`: at the n-th time (n from 1; the first unless given) that the point is reached, die, or freeze. */
export const CRASH_AT_PATTERN = new RegExp(
  `^(${Object.keys(CRASH_POINTS).join('|').replaceAll('.', '\\.')})(:[1-9]\\d{0,5})?(=stop)?$`,
);

/**
 * For tests: a process that, where `at` says ({@link CRASH_AT_PATTERN}), ends by SIGKILL, at once and without any cleaning
 * up, or freezes by SIGSTOP until somebody sends SIGCONT.
 *
 * @returns undefined when `at` is: then nothing is reached and nothing is paid.
 */
export function createCrashPoints({ at, log }: { at: string | undefined; log: Log }): Reach | undefined {
  if (at === undefined) return undefined;
  const [where = '', how] = at.split('=');
  const [armed, times = '1'] = where.split(':');
  let left = Number(times);
  return (point) => {
    if (point !== armed) return;
    left -= 1;
    if (left !== 0) return;
    const stops = how === 'stop';
    log.warn({ crashPoint: point }, stops ? 'frozen, as CRASH_AT says' : 'killed, as CRASH_AT says');
    if (stops) process.kill(process.pid, 'SIGSTOP');
    else die();
  };
}

/** SIGKILL, and not one more callback before it comes. */
function die(): void {
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/**
 * For tests: a person whose rows kill the process that decides them, as a fault in our code or its engine would.
 *
 * @returns undefined when `userId` is.
 */
export function createPoison({
  userId,
  log,
}: {
  userId: string | undefined;
  log: Log;
}): ((met: string) => void) | undefined {
  if (userId === undefined) return undefined;
  return (met) => {
    if (met !== userId) return;
    log.warn({}, 'killed, as CRASH_ON_USER says');
    die();
  };
}
