/** As much of JSON Schema as values.schema.json says. */
export type JsonSchema = {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: false | JsonSchema;
  readonly items?: JsonSchema;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly not?: JsonSchema;
};

export type Properties = Readonly<Record<string, JsonSchema>>;

/** An object that has no other property than these, so that a typo is refused. */
export const object = (description: string, properties: Properties, required: readonly string[] = []): JsonSchema => ({
  type: 'object',
  description,
  additionalProperties: false,
  properties,
  ...(required.length === 0 ? {} : { required }),
});

/** What goes into a manifest as it is: Kubernetes knows its shape. */
export const asIs = (type: 'object' | 'array', description: string): JsonSchema => ({ type, description });

export const text = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
});
export const yesOrNo = (description: string): JsonSchema => ({ type: 'boolean', description });
export const oneOf = (description: string, values: readonly string[]): JsonSchema => ({ description, enum: values });
export const count = (description: string, minimum: number, maximum?: number): JsonSchema => ({
  type: 'integer',
  description,
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
});
export const texts = (description: string): JsonSchema => ({ type: 'array', description, items: { type: 'string' } });
export const labels = (description: string): JsonSchema => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string' },
});
