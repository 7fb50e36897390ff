import { processCampaign, type Queue, type Tickets, tickets } from '@dueline/contracts';

/** Two work queues of our own: the mechanism knows no product queue. */
export const ordersQueue: Queue<Tickets> = { name: 'orders', exchange: 'dueline.commands', version: 1, data: tickets };
export const changesQueue: Queue<Tickets> = { name: 'changes', exchange: 'dueline.events', version: 1, data: tickets };
export const TEST_QUEUES = [ordersQueue, changesQueue];
export const minuteQueue: Queue<null> = { ...processCampaign, name: 'minute' };
