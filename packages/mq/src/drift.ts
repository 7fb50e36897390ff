import type { Management } from './management.ts';
import type { PolicySpec, Topology } from './topology.ts';

type Row = Readonly<Record<string, unknown>>;

/** Compares what exists by type, binding and policy with the topology; what does not exist is not reported here. */
export async function findDrift(management: Management, topology: Topology): Promise<readonly string[]> {
  const list = async (what: string) => rowsOf(await management.get([what, management.vhost]));
  const queues = byName(await list('queues'));
  const exchanges = byName(await list('exchanges'));
  const policyRows = await list('policies');
  const policies = byName(policyRows);
  const bindings = new Set(
    (await list('bindings')).map((row) => bindingKey(row.source, row.destination, row.routing_key)),
  );
  return [
    ...topology.exchanges.flatMap(({ name, type }) => exchangeDrift(name, type, exchanges.get(name))),
    ...topology.queues.flatMap((name) => queueDrift(name, queues.get(name), policyRows)),
    ...topology.bindings
      .filter(({ exchange, queue, routingKey }) => !bindings.has(bindingKey(exchange, queue, routingKey)))
      .map(({ exchange, queue, routingKey }) => `queue ${queue} is not bound to ${exchange} by '${routingKey}'`),
    ...topology.policies.flatMap((policy) => policyDrift(policy, policies.get(policy.name))),
  ];
}

const bindingKey = (...parts: readonly unknown[]): string => JSON.stringify(parts);

function rowsOf(answer: unknown): readonly Row[] {
  if (!Array.isArray(answer)) return [];
  return answer.filter((row): row is Row => typeof row === 'object' && row !== null);
}

const byName = (rows: readonly Row[]): ReadonlyMap<unknown, Row> => new Map(rows.map((row) => [row.name, row]));

const asObject = (value: unknown): Row =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};

function exchangeDrift(name: string, type: string, row: Row | undefined): string[] {
  if (row === undefined) return [];
  return [
    ...(row.type === type ? [] : [`exchange ${name} is of type ${String(row.type)}, not ${type}`]),
    ...(row.durable === true ? [] : [`exchange ${name} is not durable`]),
  ];
}

function queueDrift(name: string, row: Row | undefined, policies: readonly Row[]): string[] {
  if (row === undefined) return [];
  const type = asObject(row.arguments)['x-queue-type'] ?? 'classic';
  const governing = governingPolicy(name, policies);
  return [
    ...(type === 'quorum' ? [] : [`queue ${name} is of type ${String(type)}, not quorum`]),
    ...(governing === `dueline.${name}` ? [] : [`queue ${name} is governed by ${governing}, not dueline.${name}`]),
  ];
}

/** Worked out here: the API's own column is a statistic that lags behind, or is missing where statistics are off. */
function governingPolicy(queue: string, policies: readonly Row[]): string {
  const [first] = policies
    .filter((row) => row['apply-to'] !== 'exchanges' && matches(String(row.pattern), queue))
    .toSorted((a, b) => Number(b.priority) - Number(a.priority));
  return first === undefined ? 'no policy' : String(first.name);
}

function matches(pattern: string, queue: string): boolean {
  try {
    return new RegExp(pattern).test(queue);
  } catch (error) {
    if (error instanceof SyntaxError) return true; // Erlang's dialect allows more; better to name a policy too many
    throw error;
  }
}

function policyDrift({ name, pattern, priority, definition }: PolicySpec, row: Row | undefined): string[] {
  if (row === undefined) return [`policy ${name} does not exist`];
  const actual = asObject(row.definition);
  const keys = [...new Set([...Object.keys(definition), ...Object.keys(actual)])];
  return [
    ...(row.pattern === pattern ? [] : [`policy ${name} has the pattern ${String(row.pattern)}, not ${pattern}`]),
    ...(row.priority === priority ? [] : [`policy ${name} has the priority ${String(row.priority)}, not ${priority}`]),
    ...keys
      .filter((key) => actual[key] !== definition[key])
      .map((key) => `policy ${name} has ${key} ${shown(actual[key])}, not ${shown(definition[key])}`),
  ];
}

const shown = (value: unknown): string => (value === undefined ? 'unset' : JSON.stringify(value));
