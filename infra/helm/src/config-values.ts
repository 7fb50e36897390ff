import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ServiceError } from '@dueline/kernel';
import { z } from 'zod';
import type { JsonSchema, Properties } from './json-schema.ts';

/** Variables that hold a password or a key, of this app or, with its name before it, of another one: they come from a Secret, never from values. */
const SECRET = /(^|_)(DATABASE_URL|DATABASE_URL_DIRECT|AMQP_URL|AMQP_MANAGEMENT_URL|REDIS_URL|SECRETS_KEY)$/;

/** Variables that the charts set themselves, or that have no meaning in a cluster. */
const NOT_GIVEN = new Set([
  'DUELINE_ENV', // production, which is the default
  'DUELINE_PARENT_PID',
  'DUELINE_VERSION', // the image says it
  'HTTP_HOST',
  'HTTP_PORT',
  'INSTANCE_NAME',
  'SHUTDOWN_TIMEOUT_SECONDS',
]);

type Field = JsonSchema & {
  readonly testOnly?: boolean;
  readonly productionMinimum?: number;
  readonly defaultText?: string;
};

export type AppVariables = {
  /** Those that are set by `config`, as schemas of their values. */
  readonly config: Properties;
  /** Those that are set by `secrets`: name to description. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Those of both without which the app does not start. */
  readonly required: readonly string[];
  /** Every variable that the app reads. */
  readonly all: readonly string[];
};

/**
 * What an app reads from its environment, by the zod objects of its config.ts. Limits are those of production.
 *
 * @param options.names The exported schemas: `configSchema` of a service.
 * @param options.derived Variables that the chart sets by other values.
 */
export async function appVariables(
  root: string,
  { app, names, derived }: { app: string; names: readonly string[]; derived: readonly string[] },
): Promise<AppVariables> {
  const fields = await readFields(root, app, names);
  const isGiven = ([name, field]: [string, Field]) =>
    !NOT_GIVEN.has(name) && !derived.includes(name) && field.testOnly !== true;
  const given = Object.entries(fields.properties).filter(isGiven);
  return {
    config: Object.fromEntries(
      given.filter(([name]) => !SECRET.test(name)).map(([name, field]) => [name, valueSchema(field)]),
    ),
    secrets: Object.fromEntries(
      given.filter(([name]) => SECRET.test(name)).map(([name, { description = '' }]) => [name, description]),
    ),
    required: given.map(([name]) => name).filter((name) => fields.required.includes(name)),
    all: Object.keys(fields.properties),
  };
}

async function readFields(
  root: string,
  app: string,
  names: readonly string[],
): Promise<{ properties: Record<string, Field>; required: string[] }> {
  const [path = ''] = globSync(`apps/${app}/src/config.ts`, { cwd: root });
  // By computed path, because an app is nobody's dependency: nothing is imported from it but its schemas.
  const module: Record<string, unknown> = await import(pathToFileURL(join(root, path)).href);
  const properties: Record<string, Field> = {};
  const required = new Set<string>();
  for (const name of names) {
    const schema = module[name];
    if (!(schema instanceof z.ZodObject)) throw new ServiceError(`apps/${app}/src/config.ts exports no ${name}`);
    for (const [variable, field] of Object.entries(schema.shape)) {
      properties[variable] = z.toJSONSchema(field, { io: 'output', unrepresentable: 'any' }) as Field;
      if (!z.safeParse(field, undefined).success) required.add(variable);
    }
  }
  return { properties, required: [...required] };
}

/** Without what is only ours, and with the limits of production. */
function valueSchema(field: Field): JsonSchema {
  const { type, description, default: byDefault, enum: values, format, exclusiveMinimum } = field;
  const minimum = Math.max(field.minimum ?? Number.NEGATIVE_INFINITY, field.productionMinimum ?? field.minimum ?? 0);
  const maximum = field.maximum === Number.MAX_SAFE_INTEGER ? undefined : field.maximum;
  return Object.fromEntries(
    Object.entries({
      type,
      description,
      default: byDefault,
      enum: values,
      format,
      exclusiveMinimum,
      minimum: field.minimum === undefined ? undefined : minimum,
      maximum,
    }).filter(([, value]) => value !== undefined),
  );
}
