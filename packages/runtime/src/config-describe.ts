import { z } from 'zod';
import type { VariableMeta } from './config-fields.ts';

/** One variable of a configuration, for a person: a row of the generated documentation. */
export type ConfigRow = {
  readonly name: string;
  /** For example `integer from 0 to 65535`, `url`, `one of production, test`. */
  readonly type: string;
  /** Absent when the variable has none. */
  readonly default: string | undefined;
  readonly required: boolean;
  readonly description: string;
};

type Property = {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
};

/** The variables of a schema in the order they are written; limits for production are part of `type`. */
export function describeConfig(schema: z.ZodObject): ConfigRow[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const property = propertyOf(field);
    const meta = limitsOf(field);
    const fallback = meta.defaultText ?? (property.default === undefined ? undefined : String(property.default));
    return {
      name,
      type: typeText(property, meta),
      default: fallback,
      required: fallback === undefined && !z.safeParse(field, undefined).success,
      description: meta.description ?? '',
    };
  });
}

/** Our own facts about a field, wherever in its wrappers (`optional`, `default`) they were written. */
export function limitsOf(field: z.core.$ZodType): Partial<VariableMeta> {
  // JSON Schema generation is the one public walk of zod that carries metadata outwards through every wrapper.
  const { description, defaultText, productionMinimum, testOnly } = propertyOf(field) as Partial<VariableMeta>;
  return {
    ...(description === undefined ? {} : { description }),
    ...(defaultText === undefined ? {} : { defaultText }),
    ...(productionMinimum === undefined ? {} : { productionMinimum }),
    ...(testOnly === undefined ? {} : { testOnly }),
  };
}

function propertyOf(field: z.core.$ZodType): Property {
  return z.toJSONSchema(field, { io: 'output', unrepresentable: 'any' }) as Property;
}

function typeText(property: Property, meta: Partial<VariableMeta>): string {
  const parts = [baseText(property)];
  const { minimum, exclusiveMinimum, maximum } = property;
  if (exclusiveMinimum !== undefined) parts.push(`above ${exclusiveMinimum}`);
  else if (minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER) parts.push(`from ${minimum}`);
  if (maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER) parts.push(`to ${maximum}`);
  if (meta.productionMinimum !== undefined) parts.push(`(production: from ${meta.productionMinimum})`);
  if (meta.testOnly) parts.push('(tests only)');
  return parts.join(' ');
}

function baseText({ type, format, enum: values }: Property): string {
  if (values !== undefined) return `one of ${values.join(', ')}`;
  if (format === 'uri') return 'url';
  if (type === 'boolean') return 'true or false';
  return type ?? 'text';
}
