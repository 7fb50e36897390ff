import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as contracts from '@dueline/contracts';
import { describeTopology, type PolicySpec } from '@dueline/mq';
import { z } from 'zod';
import { code, docstringOf, page, table } from './markdown.ts';

const MESSAGES = 'packages/contracts/src/messages.ts';

/** Every queue with the contract of its messages, and the whole topology that the broker is given. */
export function queuesPage(root: string): string {
  const topology = describeTopology(contracts.QUEUES);
  return page('Queues', [
    `Work queues are the data of \`${MESSAGES}\`; exchanges, dead letters, bindings and policies follow from them. ` +
      'Everything is durable and every queue is a quorum queue.',
    ...contracts.QUEUES.flatMap((queue) => queueSection(root, queue)),
    '## Exchanges',
    table(
      ['exchange', 'type'],
      topology.exchanges.map(({ name, type }) => [code(name), type]),
    ),
    '## All queues and their policies',
    table(
      ['queue', 'policy', 'priority', 'definition'],
      topology.queues.map((queue) => policyCells(queue, topology.policies)),
    ),
    '## Bindings',
    table(
      ['exchange', 'routing key', 'queue'],
      topology.bindings.map(({ exchange, routingKey, queue }) => [code(exchange), code(routingKey), code(queue)]),
    ),
  ]);
}

function queueSection(root: string, queue: (typeof contracts.QUEUES)[number]): string[] {
  const exported = Object.entries(contracts).find(([, value]) => value === queue)?.[0];
  const text = exported === undefined ? '' : docstringOf(readFileSync(join(root, MESSAGES), 'utf8'), exported);
  if (text === '')
    throw new Error(`${MESSAGES} says nothing above the queue ${queue.name}: who sends to whom, and what`);
  if (queue.tick !== undefined)
    return [
      `## ${queue.name}`,
      text,
      `Exchange \`${queue.exchange}\`. A tick: a zero-byte message without an envelope; the newest replaces the one that waits.`,
    ];
  return [
    `## ${queue.name}`,
    text,
    `Exchange \`${queue.exchange}\`, version ${queue.version} of this \`data\`:`,
    ['```json', JSON.stringify(z.toJSONSchema(queue.data, { io: 'input' }), undefined, 2), '```'].join('\n'),
  ];
}

function policyCells(queue: string, policies: readonly PolicySpec[]): string[] {
  const policy = policies.find(({ pattern }) => new RegExp(pattern).test(queue));
  if (policy === undefined) throw new Error(`no policy fits the queue ${queue}`);
  const definition = Object.entries(policy.definition).map(([key, value]) => code(`${key}: ${value}`));
  return [code(queue), code(policy.name), String(policy.priority), definition.join(' ')];
}
