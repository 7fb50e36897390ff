import { QUEUES } from '@dueline/contracts';
import { expect, test } from 'vitest';
import { deadLetterQueue, describeTopology } from '../src/index.ts';

const topology = describeTopology(QUEUES);

test('every queue has exactly one policy, and every policy one queue', () => {
  const governedBy = (queue: string) => topology.policies.filter(({ pattern }) => new RegExp(pattern).test(queue));
  for (const queue of topology.queues) expect(governedBy(queue).map(({ name }) => name)).toEqual([`dueline.${queue}`]);
  expect(topology.policies).toHaveLength(topology.queues.length);
});

const ticks = QUEUES.filter(({ tick }) => tick !== undefined).map(({ name }) => name);

test('nothing but ticks is dropped silently: full queues refuse and dead letters have a queue bound', () => {
  const works = topology.policies.filter(({ name }) => !ticks.includes(name.replace('dueline.', '')));
  for (const { definition } of works) expect(definition.overflow).toBe('reject-publish');
  for (const { name } of QUEUES.filter((queue) => !ticks.includes(queue.name))) {
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

test('a queue of ticks holds one for a minute, and has neither dead letters nor a retry tier', () => {
  expect(ticks).toEqual(['process_campaign']);
  expect(topology.policies.find(({ name }) => name === 'dueline.process_campaign')?.definition).toEqual({
    'max-length': 1,
    overflow: 'drop-head',
    'message-ttl': 60_000,
  });
  expect(topology.queues).not.toContain(deadLetterQueue('process_campaign'));
  expect(topology.bindings.filter(({ queue }) => queue === 'process_campaign')).toHaveLength(1);
});
