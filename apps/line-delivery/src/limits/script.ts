import { createHash } from 'node:crypto';
import { BURST_MS, FURTHEST_MS, GROWTH_MS, HALVING_WINDOW_MS, LEAST_SHARE, MAX_WAIT_MS, QUIET_MS } from './bucket.ts';

/**
 * The same arithmetic as bucket.ts, on a hash that all replicas share, by Redis' own clock: replicas need not agree on the time. ARGV:
 * what to do, how many, the rate per second, and a time instead of the clock's ('' in production; a test compares both
 * with it). Numbers are stored with microseconds: Lua would write 14 digits. The key outlives what it knows.
 */
export const SCRIPT = `
local count, rate = tonumber(ARGV[2]), tonumber(ARGV[3])
local now = tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
end
local kept = redis.call('HMGET', KEYS[1], 'next', 'back', 'share', 'halved')
local next, back = tonumber(kept[1] or 0), tonumber(kept[2] or 0)
local share, halved = tonumber(kept[3] or 1), tonumber(kept[4] or 0)
local current = math.min(1, share + math.max(0, now - halved - ${QUIET_MS}) / ${GROWTH_MS})
local answer
if ARGV[1] == 'take' then
  local every = 1000 / (rate * current)
  local burst = math.max(${BURST_MS}, every)
  next = math.min(math.max(next, now), now + ${MAX_WAIT_MS} + burst)
  local granted = math.max(0, math.min(count, math.floor((now + ${MAX_WAIT_MS} + burst - next) / every)))
  next = next + granted * every
  answer = {granted, math.max(0, math.ceil(next - burst - now))}
elseif ARGV[1] == 'halve' then
  answer = {0, 0}
  if now - halved >= ${HALVING_WINDOW_MS} then
    share, halved = math.max(${LEAST_SHARE}, current / 2), now
    current = share
    answer = {1, 0}
  end
else
  local first = math.min(math.max(back, now + ${MAX_WAIT_MS}), now + ${FURTHEST_MS})
  back = math.min(first + count * 1000 / rate, now + ${FURTHEST_MS})
  answer = {0, math.ceil(first - now)}
end
redis.call('HSET', KEYS[1], 'next', string.format('%.3f', next), 'back', string.format('%.3f', back),
           'share', string.format('%.9f', share), 'halved', string.format('%.3f', halved))
redis.call('PEXPIRE', KEYS[1], math.ceil(${QUIET_MS + GROWTH_MS + 30_000} + math.max(0, back - now)))
answer[3] = string.format('%.9f', current)
return answer
`;

export const SCRIPT_SHA = createHash('sha1').update(SCRIPT).digest('hex');
