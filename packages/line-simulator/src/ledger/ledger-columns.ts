import { compact } from '../compact.ts';
import type { Phase } from '../faults/effects.ts';
import { digestColumn, float64Column, uint8Column, uint32Column } from './columns.ts';
import type { AcceptEntry } from './ledger-store.ts';

/** What is known of a request when it arrives. */
export interface Arrival {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
  readonly retryKey: string | undefined;
}

export function createRequestColumns() {
  const columns = {
    at: float64Column(),
    channel: uint32Column(),
    /** 0 as long as there is no answer. */
    status: uint32Column(),
    toCount: uint32Column(),
    keyAttempt: uint32Column(),
    hasBody: uint8Column(),
    body: digestColumn(32),
    method: [] as string[],
    path: [] as string[],
    requestId: [] as string[],
    retryKey: [] as (string | undefined)[],
    /** The step that answered. */
    step: [] as string[],
    /** By request, the fault that it met; most meet none. */
    faults: new Map<number, { readonly id: string; readonly phase: Phase }>(),
    /** Requests whose client went away before the answer. */
    aborted: new Set<number>(),
  };
  return {
    ...columns,
    get count() {
      return columns.method.length;
    },
    arrive(arrival: Arrival): number {
      columns.at.push(arrival.at);
      for (const column of [columns.channel, columns.status, columns.toCount, columns.keyAttempt, columns.hasBody]) {
        column.push(0);
      }
      columns.method.push(arrival.method);
      columns.path.push(arrival.path);
      columns.requestId.push(arrival.requestId);
      columns.retryKey.push(arrival.retryKey);
      return columns.step.push('');
    },
    setBody(request: number, digest: Uint8Array): void {
      columns.hasBody.set(request - 1, 1);
      columns.body.set(request - 1, digest);
    },
  };
}

export function createAcceptColumns() {
  let messages = 0;
  const columns = {
    request: uint32Column(),
    at: float64Column(),
    channel: uint32Column(),
    delivered: uint32Column(),
    /** Index of the first suppressed user; the next accept's is the end. */
    suppressedFrom: uint32Column(),
    firstMessage: float64Column(),
    messageCount: uint8Column(),
    /** Accepts that were never carried out; most are. */
    dropped: new Set<number>(),
    lids: [] as (readonly number[])[],
    retryKey: [] as (string | undefined)[],
  };
  return {
    ...columns,
    push(
      entry: AcceptEntry,
      result: {
        lids: readonly number[];
        delivered: number;
        suppressedFrom: number;
      },
    ): void {
      columns.request.push(entry.request);
      if (entry.dropped) columns.dropped.add(columns.request.length);
      columns.at.push(entry.at);
      columns.channel.push(entry.channel.ref);
      columns.delivered.push(result.delivered);
      columns.suppressedFrom.push(result.suppressedFrom);
      columns.firstMessage.push(messages + 1);
      messages += entry.messageCount;
      columns.messageCount.push(entry.messageCount);
      columns.lids.push(result.lids);
      columns.retryKey.push(entry.retryKey);
    },
  };
}

/** Numbers for logical ids, from 1; 0 stands for none. A lid belongs to its channel. */
export function createLidBook() {
  const numbers = new Map<number, Map<string, number>>();
  const names: string[] = [];
  const channelRefs: number[] = [];
  const suppressed = uint32Column();
  const dropped = new Map<number, number>();
  return {
    number(channelRef: number, lid: string): number {
      let ofChannel = numbers.get(channelRef);
      if (ofChannel === undefined) {
        ofChannel = new Map();
        numbers.set(channelRef, ofChannel);
      }
      const known = ofChannel.get(lid);
      if (known !== undefined) return known;
      channelRefs.push(channelRef);
      suppressed.push(0);
      const kept = compact(lid);
      const number = names.push(kept);
      ofChannel.set(kept, number);
      return number;
    },
    get count() {
      return names.length;
    },
    name: (number: number) => names[number - 1] ?? '',
    channelRef: (number: number) => channelRefs[number - 1] ?? 0,
    addSuppressed: (number: number) => suppressed.set(number - 1, suppressed.get(number - 1) + 1),
    addDropped: (number: number) => dropped.set(number, (dropped.get(number) ?? 0) + 1),
    dropped: (number: number) => dropped.get(number) ?? 0,
    suppressed: (number: number) => suppressed.get(number - 1),
  };
}
