import type { Socket } from 'node:net';
import { sleep } from '@dueline/kernel';
import { channelOf, type Exchange } from '../api/exchange.ts';
import { type Outcome, runChecks } from '../api/pipeline.ts';
import { answerOf } from './answers.ts';
import { type Effect, latencyMs } from './effects.ts';
import type { Fault } from './engine.ts';
import type { ListenerFault } from './listener.ts';
import { bytesOf, clientGone, drip, truncate } from './wire.ts';

/** A request that meets a fault, and what the server lets be done with it. */
export interface FaultedRequest {
  readonly exchange: Exchange;
  /** The answer, if what comes before the retry key refuses it. */
  readonly arrived: Outcome | undefined;
  readonly socket: Socket;
  readonly requestId: string;
  readonly listener: ListenerFault;
  now(): number;
  /** Answers as ever. */
  respond(outcome: Outcome): void;
  /** Takes the connection from the server, which from here on writes nothing. */
  takeOver(): void;
  /** The request has ended, with these bytes of an answer or with none. */
  end(status: number | undefined, step: string): void;
}

/** Lets the request meet its fault. Ends when the request has ended. */
export async function playFault(fault: Fault, request: FaultedRequest): Promise<void> {
  const { effect, phase } = fault;
  if (phase === 'afterAccept') {
    const outcome = request.arrived ?? runChecks(request.exchange);
    if (!isAccepted(outcome)) return request.respond(outcome);
    note(fault, request);
    if (effect.type === 'latency') return respondAfter(latencyMs(effect, fault.draw), request, outcome);
    return spoil(effect, request, outcome);
  }
  note(fault, request);
  if (effect.type === 'latency') return checkAfter(latencyMs(effect, fault.draw), request);
  if (effect.type === 'lateAccept') return checkAfter(effect.ms, request);
  if (changeWorld(effect, request.exchange)) return request.respond(request.arrived ?? runChecks(request.exchange));
  return spoil(effect, request, undefined);
}

function note(fault: Fault, { exchange }: FaultedRequest): void {
  fault.meet();
  exchange.store.requests.faults.set(exchange.request, { id: fault.id, phase: fault.phase });
}

/** Accepted by this request, or before by the same key. */
function isAccepted({ answer, step }: Outcome): boolean {
  return step === 'accept' ? answer.status < 300 : step === 'keyAccepted';
}

async function respondAfter(ms: number, request: FaultedRequest, outcome: Outcome): Promise<void> {
  await sleep(ms, request.listener.closing);
  request.respond(outcome);
}

/** Whether the client is still there makes no difference to what is done. */
async function checkAfter(ms: number, request: FaultedRequest): Promise<void> {
  await sleep(ms, request.listener.closing);
  if (!request.listener.closing.aborted) {
    return request.respond(request.arrived ?? runChecks({ ...request.exchange, at: request.now() }));
  }
  request.takeOver();
  request.end(undefined, 'fault');
  request.socket.destroy();
}

/** Effects on LINE itself: the request then goes its usual way. False for any other. */
function changeWorld(effect: Effect, exchange: Exchange): boolean {
  if (effect.type === 'monthlyLimit') channelOf(exchange).quota.exhaust(exchange.at);
  else if (effect.type === 'reservation') {
    channelOf(exchange).quota.reserve(effect.count ?? Infinity, exchange.at + effect.ms);
  } else if (effect.type === 'withoutDelivery' || effect.type === 'withoutEffect') exchange.hollow = true;
  else if (effect.type === 'forgetKey' && exchange.keyUse !== undefined) exchange.keyUse.accept = 0;
  else return false;
  return true;
}

/** Effects on the answer, and on the connection that it would take. */
async function spoil(effect: Effect, request: FaultedRequest, outcome: Outcome | undefined): Promise<void> {
  const step = outcome?.step ?? 'fault';
  const answer = answerOf(effect, request.exchange);
  if (answer !== undefined) return request.respond({ answer, step });
  const { socket } = request;
  request.takeOver();
  if (effect.type === 'hang') {
    await clientGone(socket);
    return request.end(undefined, step);
  }
  if (outcome !== undefined && (effect.type === 'drip' || effect.type === 'truncate')) {
    const bytes = bytesOf(outcome.answer, request.requestId);
    if (effect.type === 'drip') await drip(socket, bytes, { ...effect, closing: request.listener.closing });
    request.end(outcome.answer.status, step);
    if (effect.type === 'truncate') truncate(socket, bytes, effect.part);
    else socket.end();
    return;
  }
  request.end(undefined, step);
  if (effect.type === 'fin' || effect.type === 'closeIdle') socket.end();
  else socket.resetAndDestroy();
  if (effect.type === 'down' || effect.type === 'blackHole') request.listener.set(effect.type, effect.ms);
}
