import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { quota } from '../config.ts';
import type { Faults } from './engine.ts';
import type { Scenario } from './scenario.ts';

const channelId = z.string();
const count = z.int().min(0);
const quotaCommand = z.strictObject({ channelId, quota });
const consumeCommand = z.strictObject({ channelId, count });
const reserveCommand = z.strictObject({ channelId, count, ms: z.int().min(1) });
const channelCommand = z.strictObject({ channelId });
const listenerCommand = z.strictObject({ state: z.enum(['up', 'down', 'blackHole']) });

/** The part of the control API that makes things go wrong. */
export function addFaultRoutes(
  app: FastifyInstance,
  { faults, scenario }: { faults: Faults; scenario: Scenario },
): void {
  app.get('/__sim/faults', () => faults.hits());
  app.post('/__sim/faults', (request) => {
    // The engine checks every rule itself, so that a refusal can name it.
    faults.set(request.body as Parameters<Faults['set']>[0]);
    return faults.hits();
  });
  app.delete('/__sim/faults', () => {
    faults.clear();
    return {};
  });
  app.post('/__sim/quota', (request) => {
    const given = quotaCommand.parse(request.body);
    scenario.setQuota(given.channelId, given.quota);
    return {};
  });
  app.post('/__sim/quota/consume', (request) => {
    const given = consumeCommand.parse(request.body);
    scenario.consumeOutside(given.channelId, given.count);
    return {};
  });
  app.post('/__sim/quota/reserve', (request) => {
    const given = reserveCommand.parse(request.body);
    scenario.startNarrowcastReservation(given.channelId, given.count, given.ms);
    return {};
  });
  app.post('/__sim/paused', (request) => {
    scenario.markPaused(channelCommand.parse(request.body).channelId);
    return {};
  });
  app.post('/__sim/resumed', (request) => {
    scenario.markResumed(channelCommand.parse(request.body).channelId);
    return {};
  });
  app.post('/__sim/listener', async (request) => {
    await scenario.listener(listenerCommand.parse(request.body).state);
    return {};
  });
}
