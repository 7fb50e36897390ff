import type { ConfirmChannel, Options } from 'amqplib';
import type { PublishFailure, PublishResult } from './types.ts';
import { close } from './waiting.ts';

/** Unconfirmed messages per channel; the rest waits in the process, within its time limit. */
const MAX_UNCONFIRMED = 500;

interface Sendable {
  readonly exchange: string;
  readonly routingKey: string;
  /** Equal to the message id, by which the broker's returns are matched. */
  readonly id: string;
  readonly content: Buffer;
  readonly properties: Options.Publish;
}

/** A message on its way. `giveUp` settles it with `timeout`; so does the broker's answer, or the loss of the channel. */
export interface Sending {
  readonly result: Promise<PublishResult>;
  readonly giveUp: () => void;
}

/** One confirm channel, used up to its limits. */
export interface SendWindow {
  send(message: Sendable): Sending;
  /** Gives up what was not sent yet. */
  refuseWaiting(reason: PublishFailure): void;
  close(): Promise<void>;
}

interface Entry {
  readonly message: Sendable;
  readonly settle: (result: PublishResult) => void;
  settled: boolean;
  returned: boolean;
}

interface WindowState {
  readonly channel: ConfirmChannel;
  readonly lost: AbortSignal;
  waiting: Entry[];
  /** A message whose time is over keeps its place until the broker answers: the limit is about what the broker holds. */
  readonly unconfirmed: Map<string, Entry>;
  bufferFull: boolean;
}

/** @param lost Aborts when the channel closes, before the callbacks of its confirms run. */
export function createSendWindow(channel: ConfirmChannel, lost: AbortSignal): SendWindow {
  const state: WindowState = { channel, lost, waiting: [], unconfirmed: new Map(), bufferFull: false };
  channel.on('drain', () => {
    state.bufferFull = false;
    pump(state);
  });
  channel.on('return', ({ properties }) => {
    const entry = state.unconfirmed.get(String(properties.messageId));
    if (entry !== undefined) entry.returned = true;
  });
  channel.on('close', () => refuseWaiting(state, 'not_connected'));
  return {
    send: (message) => {
      const { entry, sending } = createEntry(message);
      if (lost.aborted) entry.settle({ ok: false, reason: 'not_connected' });
      else state.waiting.push(entry);
      pump(state);
      return sending;
    },
    refuseWaiting: (reason) => refuseWaiting(state, reason),
    close: () => close(channel),
  };
}

function refuseWaiting(state: WindowState, reason: PublishFailure): void {
  const refused = state.waiting;
  state.waiting = [];
  for (const entry of refused) entry.settle({ ok: false, reason });
}

function pump(state: WindowState): void {
  const { lost, unconfirmed, waiting } = state;
  while (!lost.aborted && !state.bufferFull && unconfirmed.size < MAX_UNCONFIRMED) {
    const entry = waiting.shift();
    if (entry === undefined) return;
    if (!entry.settled) transmit(state, entry);
  }
}

function transmit(state: WindowState, entry: Entry): void {
  const { exchange, routingKey, content, properties, id } = entry.message;
  state.unconfirmed.set(id, entry);
  const onConfirm = (error: unknown) => confirmed(state, entry, error !== null);
  try {
    state.bufferFull = !state.channel.publish(exchange, routingKey, content, properties, onConfirm);
  } catch {
    // amqplib throws instead of calling back when the channel has just been closed: the message was never sent
    state.unconfirmed.delete(id);
    entry.settle({ ok: false, reason: 'not_connected' });
  }
}

function confirmed(state: WindowState, entry: Entry, failed: boolean): void {
  state.unconfirmed.delete(entry.message.id);
  if (failed) entry.settle({ ok: false, reason: state.lost.aborted ? 'channel_closed' : 'nacked' });
  else entry.settle(entry.returned ? { ok: false, reason: 'unroutable' } : { ok: true });
  pump(state);
}

function createEntry(message: Sendable): { entry: Entry; sending: Sending } {
  const { promise, resolve } = Promise.withResolvers<PublishResult>();
  const entry: Entry = {
    message,
    settled: false,
    returned: false,
    settle: (result) => {
      entry.settled = true;
      resolve(result); // only the first counts
    },
  };
  return { entry, sending: { result: promise, giveUp: () => entry.settle({ ok: false, reason: 'timeout' }) } };
}
