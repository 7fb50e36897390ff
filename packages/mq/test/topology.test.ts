import { QUEUES } from '@dueline/contracts';
import { expect, test } from 'vitest';
import { deadLetterQueue, describeTopology } from '../src/index.ts';

const topology = describeTopology(QUEUES);

test('every queue has exactly one policy, and every policy one queue', () => {
  const governedBy = (queue: string) => topology.policies.filter(({ pattern }) => new RegExp(pattern).test(queue));
  for (const queue of topology.queues) expect(governedBy(queue).map(({ name }) => name)).toEqual([`dueline.${queue}`]);
  expect(topology.policies).toHaveLength(topology.queues.length);
});

test('nothing is dropped silently: full queues refuse and dead letters have a queue bound', () => {
  for (const { definition } of topology.policies) expect(definition.overflow).toBe('reject-publish');
  for (const { name } of QUEUES) {
    expect(topology.bindings).toContainEqual({
      exchange: 'dueline.dlx',
      queue: deadLetterQueue(name),
      routingKey: name,
    });
  }
});

test('every binding joins an exchange and a queue of the topology', () => {
  const exchanges = topology.exchanges.map(({ name }) => name);
  for (const { exchange, queue } of topology.bindings) {
    expect(exchanges).toContain(exchange);
    expect(topology.queues).toContain(queue);
  }
});
