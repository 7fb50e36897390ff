import { MAX_TIMER_MS } from '@dueline/kernel';
import { z } from 'zod';

/** Facts about a variable that its zod type cannot say; `describeConfig` and `parseConfig` read them. */
export type VariableMeta = {
  readonly description: string;
  /** Printed in place of a default that differs from machine to machine. */
  readonly defaultText?: string;
  /** Smallest value that production accepts. */
  readonly productionMinimum?: number;
  /** Production refuses the variable. */
  readonly testOnly?: boolean;
};

/** `schema` with its description and limits; works for any zod type. */
export function variable<Schema extends z.ZodType>(schema: Schema, meta: VariableMeta): Schema {
  return schema.meta({ ...meta });
}

type SecondsOptions = {
  readonly default: number;
  /** Production refuses less; tests may go down to `minimum`. */
  readonly productionMinimum: number;
  readonly description: string;
  /** Smallest value anywhere; 0.05 unless given. */
  readonly minimum?: number;
};

/** What is longer would end at once as soon as a timer waits for it. */
const MAX_SECONDS = Math.floor(MAX_TIMER_MS / 1_000);

/**
 * A lease or an interval in seconds (fractions allowed, 24 days at most) with a safe default. Values below `productionMinimum` are
 * refused unless DUELINE_ENV is `test`: a lease of two seconds is a fine test and a disaster in production.
 */
export function seconds(options: SecondsOptions): z.ZodDefault<z.ZodCoercedNumber> {
  const { productionMinimum, description, minimum = 0.05 } = options;
  const schema = z.coerce.number().min(minimum).max(MAX_SECONDS).default(options.default);
  return variable(schema, { description, productionMinimum });
}

/** A seam that only tests may open (a crash point, a clock offset): optional, refused unless DUELINE_ENV is `test`. */
export function testOnly<Schema extends z.ZodType>(schema: Schema, description: string): z.ZodOptional<Schema> {
  return variable(z.optional(schema), { description, testOnly: true });
}
