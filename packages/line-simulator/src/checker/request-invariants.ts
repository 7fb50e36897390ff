import { ENDPOINTS } from '../api/endpoints/list.ts';
import { monthOf } from '../channel/japan-time.ts';
import { STATES } from './export-format.ts';
import type { History, Mismatch, Stop } from './history.ts';
import { type Check, stopsByPlace } from './recipient-invariants.ts';

const KEY_RULES: ReadonlyMap<string, string> = new Map([
  ['V1', 'a send without a retry key'],
  ['V2', 'a retry key used again with another body, endpoint or channel'],
  ['V3', 'two requests in flight with one retry key'],
  ['V4', 'a retry key used after its 24 hours'],
  ['V5', 'a retry key on an endpoint that forbids it'],
  ['V12', 'one logical send to one user accepted under two keys'],
]);
/** LINE's limits for sends, by path. */
const LIMITS = new Map(ENDPOINTS.filter(({ isSend }) => isSend).map(({ path, limit }) => [path, limit]));

/** H8: retry keys are used as LINE documents, and each is the one that its name gives. */
export function keyDiscipline(check: Check): void {
  addViolations(check, 'H8', KEY_RULES);
  addMismatches(check, 'H8', (claim) => claim === 'keyName');
}

/** H9: no more sends in a second, or an hour, than LINE allows, and no running against its limit. */
export function pacing(check: Check): void {
  addViolations(check, 'H9', new Map([['V6', 'requests went on and on against the rate limit']]));
  const { requests, paths, channels } = check.history;
  const windows = new Map<string, { window: number; count: number }>();
  for (let index = 0; index < requests.at.length; index += 1) {
    const path = paths.name(requests.path.get(index));
    const limit = LIMITS.get(path);
    const channel = requests.channel.get(index);
    if (limit === undefined || channel === 0) continue;
    const window = Math.floor(requests.at.get(index) / limit.perMs);
    const place = `${channel}${path}`;
    const before = windows.get(place);
    const count = before?.window === window ? before.count + 1 : 1;
    windows.set(place, { window, count });
    // Told once for each window, at the request that breaks it.
    if (count !== limit.count + 1) continue;
    const from = new Date(window * limit.perMs).toISOString();
    check.breaches.add('H9', () => ({
      channelId: channels.name(channel),
      sentence: `more than ${limit.count} requests to ${path} in the ${limit.perMs / 1_000} s from ${from}`,
    }));
  }
}

/** H10: after an acknowledged pause or cancel nothing new is begun; what was begun may be settled under its key. */
export function stopped(check: Check): void {
  const { history, breaches } = check;
  const { keys, lids, stops } = history;
  addViolations(check, 'H10', new Map([['V8', 'a send after the pause of its channel was acknowledged']]));
  if (stops.length === 0) return;
  const stopsOf = stopsByPlace(stops);
  for (let key = 1; key <= keys.count; key += 1) {
    const firstSeenAt = keys.firstSeenAt.get(key - 1);
    const lid = keys.lid.get(key - 1);
    const places = [...(lid === 0 ? [] : stopsOf(lid)), ...stopsOf(0, keys.channel.get(key - 1))];
    const broken = places.find(({ at, until }: Stop) => firstSeenAt > at && firstSeenAt < until);
    if (broken === undefined) continue;
    const acknowledged = `${broken.verb} that was acknowledged at ${new Date(broken.at).toISOString()}`;
    breaches.add('H10', () => ({
      key,
      channelId: history.channels.name(keys.channel.get(key - 1)),
      sentence: `key ${keys.name(key)} ${lid === 0 ? '' : `of ${lids.name(lid)} `}was first seen after the ${acknowledged}`,
    }));
  }
}

/** H11: receipts, LINE's usage of the month and the numbers that the client shows say the same. */
export function accounting(check: Check): void {
  checkDelivered(check);
  checkConsumption(check);
  checkTotals(check);
}

function checkDelivered({ history: { accepts }, breaches }: Check): void {
  for (let index = 0; index < accepts.at.length; index += 1) {
    const delivered = accepts.delivered.get(index);
    const receipts = accepts.receipts.get(index);
    if (receipts === delivered * Math.max(1, accepts.lidCount.get(index))) continue;
    breaches.add('H11', () => ({
      key: accepts.key.get(index),
      sentence: `accept ${index + 1} counts ${delivered} delivered, and the ledger has ${receipts} receipts of it`,
    }));
  }
}

function checkConsumption({ history, breaches }: Check): void {
  const { accepts, requests, channels } = history;
  for (const { channelId, at, totalUsage, others = 0 } of history.consumptions) {
    const channel = channels.find(channelId);
    const until = Date.parse(at);
    let used = 0;
    for (let index = 0; index < accepts.at.length; index += 1) {
      const acceptedAt = accepts.at.get(index);
      if (requests.channel.get(accepts.request.get(index) - 1) !== channel || acceptedAt > until) continue;
      if (monthOf(acceptedAt) === monthOf(until)) used += accepts.delivered.get(index);
    }
    if (used === totalUsage - others) continue;
    breaches.add('H11', () => ({
      channelId,
      sentence: `LINE counted ${totalUsage - others} messages up to ${at}, and the ledger delivered ${used}`,
    }));
  }
}

function checkTotals({ history, breaches }: Check): void {
  const { pairs, lids, totals } = history;
  if (totals.length === 0) return;
  const accepted = new Uint32Array(lids.count + 1);
  const certain = new Uint32Array(lids.count + 1);
  const isAccepted = STATES.indexOf('accepted') + 1;
  const isUnknown = STATES.indexOf('unknown') + 1;
  for (let pair = 1; pair <= pairs.count; pair += 1) {
    const lid = pairs.lid(pair);
    const state = pairs.state.get(pair - 1);
    if (state === isAccepted) accepted[lid] = (accepted[lid] ?? 0) + 1;
    if (state !== isUnknown && pairs.receipts.get(pair - 1) > 0) certain[lid] = (certain[lid] ?? 0) + 1;
  }
  for (const { lid, accepted: shown } of totals) {
    const said = accepted[lid] ?? 0;
    const received = certain[lid] ?? 0;
    if (shown === said && shown >= received) continue;
    breaches.add('H11', () => ({
      lid,
      sentence: `${lids.name(lid)} shows ${shown} accepted, of ${said} recipients called so and ${received} who received`,
    }));
  }
}

/** H12: every id of an answer that the client stored is in the ledger, with that key. */
export function exactAcceptRecord(check: Check): void {
  addMismatches(check, 'H12', (claim) => claim !== 'keyName');
}

const CLAIMS: Record<Mismatch['claim'], (value: string) => string> = {
  requestId: (value) => `request id ${value} was stored, and the ledger has no such request with this key`,
  acceptedRequestId: (value) => `accepted id ${value} was stored, and the ledger has no such accept with this key`,
  keyName: (value) => `the key that was used is not the one of its name, ${value}`,
};

function addMismatches(
  { history, breaches }: Check,
  invariant: 'H8' | 'H12',
  concerns: (claim: Mismatch['claim']) => boolean,
): void {
  const { attempts, mismatches } = history;
  for (const { attempt, claim, value } of mismatches) {
    if (!concerns(claim)) continue;
    const lid = attempts.lid.get(attempt - 1);
    const key = attempts.key.get(attempt - 1);
    breaches.add(invariant, () => ({ key, lid, sentence: CLAIMS[claim](value) }));
  }
}

function addViolations(
  { history, breaches }: Check,
  invariant: 'H8' | 'H9' | 'H10',
  rules: ReadonlyMap<string, string>,
): void {
  for (const { code, request, channelId, user, lid, detail } of history.violations) {
    const rule = rules.get(code);
    if (rule === undefined) continue;
    const pair = user === null || lid === null || channelId === null ? 0 : pairOf(history, { channelId, lid, user });
    breaches.add(invariant, () => ({
      key: history.requests.key.get(request - 1),
      channelId,
      ...(pair !== 0 && { pair }),
      sentence: `${code}: ${rule}${detail === null ? '' : ` (${detail})`}, in request ${request}`,
    }));
  }
}

function pairOf(
  { pairs, lids, users }: History,
  { channelId, lid, user }: { channelId: string; lid: string; user: string },
): number {
  return pairs.find(lids.intern(channelId, lid), users.find(user));
}
